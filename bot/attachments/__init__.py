"""What comes along with a message: read into the turn."""
