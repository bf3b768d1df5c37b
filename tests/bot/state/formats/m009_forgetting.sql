-- schema bddde84f36622328

INSERT INTO forgetting (chat, person, code, query, lines, at, key, unfinished, outcome) VALUES
    ('telegram:1', 'telegram:1', 'A2B3', 'locker', '[["MEMORY.md", 3]]', '2026-11-21T12:00:00.000+00:00', '', 0, ''),
    ('telegram:2', 'telegram:2', '', 'tram', '[]', '2026-11-21T12:05:00.000+00:00', 'message-7', 1, '{"removed": 1}');
