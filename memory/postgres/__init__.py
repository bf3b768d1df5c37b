"""What several instances share on a PostgreSQL server: connections, locks, news."""
