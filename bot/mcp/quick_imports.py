"""Makes the library for MCP quicker to import, for a program that is started anew by each client."""

import sys
from importlib.util import find_spec
from types import ModuleType


def import_less() -> None:
    """Keep the library from importing and building what only its client and its own HTTP server need.

    That is a quarter of the CPU time of a start. Call it once, before the library is imported, and only in a process
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
