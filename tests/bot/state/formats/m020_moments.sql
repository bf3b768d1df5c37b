-- schema d2cb8a913bc18033
-- rewrites reminders.zone

INSERT INTO reminders
    (number, key, chat, person, sender_name, chat_name, in_room, text, prompt, due_at, rule, zone, state, at, skipped)
VALUES
    (9, 'r-9', 'telegram:1', 'telegram:1', 'Anna', '', 0, 'the washing', 0, '2026-11-21T12:40:00.000+00:00', '', '',
     'active', '2026-11-21T12:00:00.000+00:00', 0);
