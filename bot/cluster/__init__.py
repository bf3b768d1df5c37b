"""Coordination between instances of the service: leases decide which instance does what."""
