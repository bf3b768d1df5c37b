-- schema 69891dc26989ed0f

INSERT INTO conversations (id, chat, started_at, ended_at) VALUES (9, 'imported:terminal:owner', '2026-11-21T12:00:00.000+00:00', '2026-11-21T12:00:00.000+00:00');
INSERT INTO imports (run, chat, format, source, state, started_at, ended_at) VALUES
    (2, 'imported:terminal:owner', 'chatgpt', '/home/anna/export.zip', 'done', '2026-11-21T12:00:00.000+00:00', '2026-11-21T12:05:00.000+00:00');
INSERT INTO imported_conversations (conversation, chat, format, external_id, title) VALUES
    (9, 'imported:terminal:owner', 'chatgpt', 'c1', 'The kayak');
INSERT INTO imported_messages (conversation, key, seq, run) VALUES (9, 4711, 1, 2);
INSERT INTO imported_notes (number, run, source, digest, path, kind, lines, undo) VALUES
    (5, 2, 'Bread.md', '00ff', 'Bread.md', 'file', '["00ff"]', 'undo/5');
