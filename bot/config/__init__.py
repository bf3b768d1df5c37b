"""All settings, and as they count just now."""
