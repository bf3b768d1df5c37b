-- schema f7dac204c0beb9e7

INSERT INTO channel_facts (channel, key, value) VALUES ('telegram', 'offset', '4711');
INSERT INTO unread (channel, id, raw, reason, at) VALUES
    ('telegram', '4710', '{"update_id": 4710}', 'KeyError', '2026-11-21T12:00:00.000+00:00');
