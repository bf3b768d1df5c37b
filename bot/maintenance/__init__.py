"""Background jobs of the service."""
