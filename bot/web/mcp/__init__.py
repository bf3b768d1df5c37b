"""MCP over HTTP: the route, its check, and the bridge to the library's ASGI application."""
