-- schema b38898d67a407045

INSERT INTO people (person, standing, name, decided_by, at) VALUES
    ('telegram:10', 'allowed', 'Ben', 'telegram:1', '2026-11-21T12:00:00.000+00:00'),
    ('telegram:11', 'guest', 'Cleo', 'telegram:1', '2026-11-21T12:00:00.000+00:00'),
    ('telegram:12', 'denied', 'Mallory', 'telegram:1', '2026-11-21T12:05:00.000+00:00');
INSERT INTO pairing (person, code, chat, name, told_at, at) VALUES
    ('telegram:77', 'CJJ943NW', 'telegram:77', 'Dora', '2026-11-21T12:05:00.000+00:00', '2026-11-21T12:00:00.000+00:00');
INSERT INTO decisions (key, owner, answer, wrong_code, at) VALUES ('message-9', 'telegram:1', 'No such code.', 1, '2026-11-21T12:00:00.000+00:00');
INSERT INTO rooms (chat, memory) VALUES ('telegram:-500', 1), ('telegram:-501', 0);
