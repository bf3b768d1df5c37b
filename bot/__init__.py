"""The assistant: settings, conversations, models, tools and commands."""
