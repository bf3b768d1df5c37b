-- schema 7e8c270c1cc19092

INSERT INTO conversations (id, chat, started_at, ended_at) VALUES
    (1, 'telegram:1', '2026-11-21T12:00:00.000+00:00', '2026-11-21T12:05:00.000+00:00'),
    (2, 'telegram:1', '2026-11-21T12:05:00.000+00:00', NULL),
    (7, 'terminal:main', '2026-11-21T12:00:00.000+00:00', NULL);
INSERT INTO entries (conversation, seq, kind, payload, at) VALUES
    (1, 1, 'user', '{"text": "Who serviced the boiler?", "sender": "telegram:1"}', '2026-11-21T12:00:00.000+00:00'),
    (1, 2, 'assistant', '{"text": "Mr Lang."}', '2026-11-21T12:00:00.000+00:00'),
    (2, 1, 'user', '{"text": "你好，安娜", "sender": "telegram:1"}', '2026-11-21T12:05:00.000+00:00'),
    (7, 3, 'user', '{"text": "Begins at 3: two were forgotten."}', '2026-11-21T12:05:00.000+00:00');
