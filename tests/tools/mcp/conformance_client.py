"""The client the conformance suite drives: it calls every tool it finds, and accepts each form with its defaults."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import Any

from treadle._tools.mcp.client import McpConnection

VALUES = {"number": 2, "integer": 2, "string": "x", "boolean": True}


async def accept_defaults(message: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {name: field["default"] for name, field in schema.get("properties", {}).items() if "default" in field}


async def main(url: str) -> None:
    server = McpConnection("conformance", url=url, elicitation=accept_defaults)
    for tool in await server.tools():
        properties = tool.parameters.get("properties", {})
        print(
            tool.name,
            await server.call(tool.name, {name: VALUES.get(field.get("type")) for name, field in properties.items()}),
        )
    await server.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
