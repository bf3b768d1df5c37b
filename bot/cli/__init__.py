"""The `commonplace` command."""
