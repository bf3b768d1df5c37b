"""What instances share on a PostgreSQL server: connections, locks and notifications."""
