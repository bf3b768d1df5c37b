-- schema 8b4b348f41ac36cf

INSERT INTO outbox (number, key, chat, text, owner, at, attempts) VALUES
    (6, 'reminder-6', 'telegram:9', 'Reminder: the oven', '', '2026-11-21T12:05:00.000+00:00', 2);
