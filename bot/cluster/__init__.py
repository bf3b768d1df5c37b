"""Several instances of the service beside each other: who of them does what, agreed on by leases."""
