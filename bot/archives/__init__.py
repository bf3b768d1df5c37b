"""Archives of notes and conversations, and conversations in other forms."""
