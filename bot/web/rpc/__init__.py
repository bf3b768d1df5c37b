"""JSON-RPC 2.0: the memory, the models and the conversations, for programs."""
