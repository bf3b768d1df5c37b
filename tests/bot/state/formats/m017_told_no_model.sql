-- schema d577b2900515d1fc

INSERT INTO told_no_model (chat) VALUES ('terminal:main');
