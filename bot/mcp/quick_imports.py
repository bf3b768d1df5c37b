"""Speed up the import of the MCP library, since each client starts a process of its own."""

import sys
from importlib.util import find_spec
from types import ModuleType


def skip_unused_imports() -> None:
    """Keep the library from importing and building what only its client and its own HTTP server need.

    That saves a quarter of the CPU time of a start. Call it once, before the library is imported, and only in a process
    that serves standard input and output: `from mcp import Client` fails after it.
    """
    # Their own modules import the client and a second way to write servers.
    found = find_spec("mcp")
    folders = list(found.submodule_search_locations or ()) if found else []
    for name, below in (("mcp", ""), ("mcp.server", "/server")):
        sys.modules[name] = package = ModuleType(name)
        package.__path__ = [f"{folder}{below}" for folder in folders]
    # Of each version of the protocol, a session needs a few models; the others are never built.
    from mcp_types._wire_base import WireModel

    WireModel.model_config["defer_build"] = True
    # sse_starlette asks for it, and does without.
    sys.modules["uvicorn"] = None  # type: ignore[assignment]
