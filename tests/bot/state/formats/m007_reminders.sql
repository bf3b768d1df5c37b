-- schema 7fbf31c70116c18b

INSERT INTO reminders
    (number, key, chat, person, sender_name, chat_name, in_room, text, prompt, due_at, rule, zone, state, ended_by, at)
VALUES
    (1, 'r-1', 'telegram:1', 'telegram:1', 'Anna', '', 0, 'tea', 0, '2027-05-04T09:00:00.000+00:00', '',
     'Europe/Oslo', 'active', '', '2026-11-21T12:00:00.000+00:00'),
    (2, 'r-2', 'telegram:-500', 'telegram:1', 'Anna', 'Kitchen', 1, 'bins', 0, '2026-11-23T08:00:00.000+00:00',
     '{"every": "week"}', 'UTC', 'active', '', '2026-11-21T12:00:00.000+00:00'),
    (3, 'r-3', 'telegram:1', 'telegram:1', 'Anna', '', 0, 'What is on today?', 1, '2026-11-22T07:30:00.000+00:00',
     '{"every": "day"}', 'UTC', 'active', '', '2026-11-21T12:00:00.000+00:00'),
    (4, 'r-4', 'telegram:1', 'telegram:1', 'Anna', '', 0, 'nothing', 0, '2027-05-06T10:00:00.000+00:00', '', '',
     'cancelled', 'message-4', '2026-11-21T12:00:00.000+00:00'),
    (6, 'r-6', 'telegram:1', 'telegram:1', 'Anna', '', 0, 'the oven', 0, '2026-11-21T12:20:00.000+00:00', '',
     'Europe/Oslo', 'active', '', '2026-11-21T12:00:00.000+00:00');
