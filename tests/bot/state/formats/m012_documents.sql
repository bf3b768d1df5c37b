-- schema dae9a68dad39ef09

INSERT INTO documents (number, chat, sender, document, at) VALUES
    (3, 'telegram:1', 'telegram:1', '{"id": "manual-1", "name": "boiler.txt"}', '2026-11-21T12:00:00.000+00:00');
