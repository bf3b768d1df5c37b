"""The terminal as a channel: a line editor for people, plain lines for pipes."""
