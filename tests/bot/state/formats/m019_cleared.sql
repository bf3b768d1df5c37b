-- schema d2cb8a913bc18033

INSERT INTO pairing (person, code, chat, name, told_at, at, told, cleared) VALUES
    ('telegram:79', 'CPNPCRMH', 'telegram:79', 'Gil', '2026-11-21T12:05:00.000+00:00', '2026-11-21T12:00:00.000+00:00', 1, 1);
