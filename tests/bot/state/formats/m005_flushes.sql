-- schema 6742732d9f4bf75e

INSERT INTO flushes
    (id, conversation, after, upto, cause, key, stage, failures, raw, again_at, began_at, note, heading, section,
     replaces, core, digest, places)
VALUES
    (1, 1, 0, 2, 'command', 'flush-1', 'done', 1, 1, '2026-11-21T12:05:00.000+00:00', '2026-11-21T12:00:00.000+00:00', '2026-11-21.md', '12:00', '- Anna.', '- Old.',
     '- Core.', '00ff', '["2026-11-21.md:3"]'),
    (2, 2, 0, 1, 'size', 'flush-2', 'asked', 0, 0, '', '2026-11-21T12:05:00.000+00:00', '2026-11-21.md', '12:05', '', '', '', '', '[]');
INSERT INTO endings (key, conversation) VALUES ('end-1', 1);
INSERT INTO known_chats (chat, name, flush) VALUES ('telegram:-500', 'Kitchen', 1), ('telegram:1', 'Anna', 0);
