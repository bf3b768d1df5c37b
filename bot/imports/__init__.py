"""What other assistants kept: read from their exports, stored beside our own conversations and notes."""
