-- schema 8a16e67beaf07ca7

INSERT INTO inbox
    (number, chat, message, payload, state, owner, turn, conversation, heard, reply, shown, attempts, at)
VALUES
    (1, 'telegram:1', '41', '{"text": "Hello"}', 'delivered', '', 1, 1, 1, 'Hello.', '["x"]', 1, '2026-11-21T12:00:00.000+00:00'),
    (4, 'telegram:1', '44', '{"text": "Still there?"}', 'waiting', 'a1b2', NULL, NULL, NULL, NULL, '[]', 0, '2026-11-21T12:05:00.000+00:00');
INSERT INTO outbox (number, key, chat, text, owner, shown, delivered, at) VALUES
    (1, 'reminder-1', 'telegram:1', 'Reminder: tea', '', '["9"]', 1, '2026-11-21T12:00:00.000+00:00'),
    (3, 'reminder-3', 'discord:5', 'Reminder: bins', 'a1b2', '[]', 0, '2026-11-21T12:05:00.000+00:00');
