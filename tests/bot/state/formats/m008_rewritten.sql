-- schema 5773ecd75764e9e7

UPDATE entries SET payload = '{"text": "Mr Lang, in March."}' WHERE conversation = 1 AND seq = 2;
