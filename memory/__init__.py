"""A folder of Markdown notes that can be written to and searched; knows nothing of chats or models."""
