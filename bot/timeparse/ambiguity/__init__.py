"""Moments that are only half understood: refused with a reason, rather than guessed."""
