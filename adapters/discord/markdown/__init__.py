"""Pure: Markdown as Discord shows it."""
