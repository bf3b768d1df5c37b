"""Ambiguous times, which are refused with a reason rather than guessed."""
