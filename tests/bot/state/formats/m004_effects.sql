-- schema c1ffd8db304a85db

INSERT INTO effects (key, path, intent, begun, result, at) VALUES
    ('call-1-1', '2026-11-21.md', '{"append": {"block": "- Anna lives in Bergen."}}', 1, '{"line": 3}', '2026-11-21T12:00:00.000+00:00'),
    ('call-2-1', 'MEMORY.md', '{"append": {"block": "- Begun."}}', 1, NULL, '2026-11-21T12:05:00.000+00:00');
