"""Pure: Markdown as Telegram shows it."""
