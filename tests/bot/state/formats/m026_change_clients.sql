-- schema 435a88baacd4e115

INSERT INTO changes
    (number, effect, at, path, line, above, old, new, lead, made_by, person, chat, conversation, asked_at, upto, model,
     says, undoes, forgotten, done, client)
VALUES
    (7, 'mcp-7', '2026-11-21T12:05:00.000+00:00', 'trips/oslo.md', 3, '', '', '- Tram 12.', 0, 'mcp', 'terminal:owner', '', 0, 0, 0, '', '', 0, 0,
     1, 'laptop');
