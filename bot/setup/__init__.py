"""What `commonplace init` asks, tests and writes; a file for each step."""
