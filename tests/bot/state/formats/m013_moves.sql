-- schema a9340a5dce1e12e3

INSERT INTO moves (old, new, done, at) VALUES
    ('telegram:-600', 'telegram:-100600', 1, '2026-11-21T12:00:00.000+00:00'),
    ('telegram:-601', 'telegram:-100601', 0, '2026-11-21T12:05:00.000+00:00');
