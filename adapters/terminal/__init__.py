"""The terminal channel: a line editor for people, plain lines for pipes."""
