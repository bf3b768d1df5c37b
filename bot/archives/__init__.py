"""Backup archives of notes and conversations, and exports of conversations."""
