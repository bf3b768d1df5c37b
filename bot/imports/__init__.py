"""Imports from other assistants: conversations and notes, stored beside our own."""
