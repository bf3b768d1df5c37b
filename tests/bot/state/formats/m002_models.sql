-- schema 6cbf536ddd5e20be

INSERT INTO model_health VALUES
    ('openai/gpt-4.1', '1a2b', 7, 2, 1200, 340, 80, 0.75, 1.25, 42.5, 1763726400.5, 1763726300.25, 'rate_limit',
     'slow down', 1, 5.0, 1763726405.0, 128000, 1763720000.0, 1.1);
INSERT INTO model_usage VALUES ('2026-11-21', 'openai/gpt-4.1', 5, 1200, 340, 80);
INSERT INTO chosen_models VALUES ('telegram:1', 'openai/gpt-4.1');
