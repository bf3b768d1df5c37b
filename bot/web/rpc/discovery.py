"""Describes the methods as an OpenRPC document (https://spec.open-rpc.org)."""

from collections.abc import Mapping
from typing import Any

from bot.models.protocol import ToolSpec

DISCOVER = "rpc.discover"
OPENRPC = "1.3.2"
VERSION = "1.0.0"
"""Version of the methods' parameters and results."""


def describe_methods(methods: Mapping[str, ToolSpec], *, title: str) -> dict[str, Any]:
    """Return every method with its parameters and their JSON Schemas."""
    return {
        "openrpc": OPENRPC,
        "info": {"title": title, "version": VERSION},
        "methods": [
            {
                "name": name,
                "summary": spec.description,
                "paramStructure": "by-name",
                "params": [
                    {
                        "name": parameter,
                        "required": parameter in spec.parameters["required"],
                        "schema": dict(schema),
                    }
                    for parameter, schema in spec.parameters["properties"].items()
                ],
                "result": {"name": "result", "schema": {"type": "object"}},
            }
            for name, spec in methods.items()
        ],
    }
