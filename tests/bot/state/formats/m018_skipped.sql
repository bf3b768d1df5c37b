-- schema 7ed9f927519eff5f

INSERT INTO reminders
    (number, key, chat, person, sender_name, chat_name, in_room, text, prompt, due_at, rule, zone, state, at, skipped)
VALUES
    (8, 'r-8', 'telegram:1', 'telegram:1', 'Anna', '', 0, 'stretch', 0, '2026-11-21T13:00:00.000+00:00',
     '{"every": "hour"}', 'UTC', 'active', '2026-11-21T12:00:00.000+00:00', 3);
