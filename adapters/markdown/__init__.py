"""Parse Markdown into styled text and split it into messages, for all channels; no I/O."""
