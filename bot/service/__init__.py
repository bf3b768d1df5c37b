"""The service as a whole: what it is opened with, and how it starts."""
