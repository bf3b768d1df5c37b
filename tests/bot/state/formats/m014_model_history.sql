-- schema 99562287e6dc9410

INSERT INTO model_hours VALUES (1763726400, 'openai/gpt-4.1', 5, 1, 4, 5.25, 2.5, 1200, 340, 80);
