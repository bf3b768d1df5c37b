"""A folder of Markdown notes that can be written and searched; it depends on no chat and no language model."""
