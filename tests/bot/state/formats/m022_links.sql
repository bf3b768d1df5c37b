-- schema 9899fa6c6c3eb7dc

INSERT INTO links (person, other, decided_by, at) VALUES ('discord:9', 'telegram:1', 'terminal:owner', '2026-11-21T12:00:00.000+00:00');
