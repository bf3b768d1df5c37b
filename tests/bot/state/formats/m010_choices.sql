-- schema 1b8480717244b822

INSERT INTO outbox (number, key, chat, text, owner, at, choices) VALUES
    (5, 'asks telegram:1 CJJ943NW', 'telegram:1', 'Dora would like to talk with me.', '', '2026-11-21T12:05:00.000+00:00',
     '[["Let in", "/pair CJJ943NW"]]');
