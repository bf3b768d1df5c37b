-- schema 795d9a57b385d64b

INSERT INTO languages (person, chosen, told) VALUES ('telegram:10', 'de', ''), ('telegram:11', '', 'zh-CN');
