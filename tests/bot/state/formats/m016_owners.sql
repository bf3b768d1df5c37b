-- schema 3598bf4dd156fd6f

INSERT INTO people (person, standing, name, decided_by, at) VALUES
    ('telegram:13', 'owner', 'Eve', 'terminal:owner', '2026-11-21T12:05:00.000+00:00');
INSERT INTO pairing (person, code, chat, name, told_at, at, told) VALUES
    ('telegram:78', 'WRDCXYDK', 'telegram:78', 'Finn', '2026-11-21T12:05:00.000+00:00', '2026-11-21T12:00:00.000+00:00', 0);
