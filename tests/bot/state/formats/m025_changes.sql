-- schema 843ea59d4fa3c6dd

INSERT INTO changes
    (number, effect, at, path, line, above, old, new, lead, made_by, person, chat, conversation, asked_at, upto, model,
     says, undoes, forgotten, done)
VALUES
    (4, 'call-1-1', '2026-11-21T12:00:00.000+00:00', 'MEMORY.md', 3, '# Memory', '- Old.', '- New.', 1, 'tool', 'telegram:1', 'telegram:1', 1, 1,
     2, 'openai/gpt-4.1', 'boiler', 2, 1, 1),
    (6, 'undo-6', '2026-11-21T12:05:00.000+00:00', 'MEMORY.md', 3, '', '- New.', '', 0, 'undo', 'telegram:1', 'telegram:1', 1, 1, 2, '', '', 4, 0,
     1);
