-- schema eb910782556cc106

INSERT INTO changes
    (number, effect, at, path, line, above, old, new, lead, made_by, person, chat, conversation, asked_at, upto, model,
     says, undoes, forgotten, done, client, moved_from, moved_to)
VALUES
    (8, 'move-8', '2026-11-21T12:05:00.000+00:00', 'north/Oslo.md', 1, '', '', '', 0, 'page', 'terminal:owner', '', 0, 0, 0, '', '', 0, 0, 1, '',
     'trips/oslo.md', 'north/Oslo.md');
