"""The client the conformance suite drives: it calls every tool it finds, accepts each form with its defaults, and logs
in where the server asks for it. The user's browser is a program that follows redirects."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import aiohttp

from treadle import McpAuth, McpServer

VALUES = {"number": 2, "integer": 2, "string": "x", "boolean": True}
METADATA_URL = "https://conformance-test.local/client-metadata.json"


async def accept_defaults(message: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {name: field["default"] for name, field in schema.get("properties", {}).items() if "default" in field}


async def browser(address: str) -> None:
    async def visit() -> None:
        async with aiohttp.ClientSession() as web, web.get(address) as page:
            await page.read()

    tasks.add(asyncio.ensure_future(visit()))


tasks: set[asyncio.Future[None]] = set()


async def issuer_of(url: str) -> str:
    """What an operator knows who registered a client: where it is registered."""
    origin, _, path = url.rpartition("/mcp")
    async with aiohttp.ClientSession() as web:
        for place in (f"{origin}/.well-known/oauth-protected-resource/mcp{path}",):
            async with web.get(place) as page:
                return (await page.json())["authorization_servers"][0]
    raise AssertionError("no metadata")


async def settings(scenario: str, url: str, given: Mapping[str, Any]) -> McpAuth:
    names = {"client_id": given.get("client_id", ""), "client_secret": given.get("client_secret", "")}
    if scenario == "auth/client-credentials-jwt":
        return McpAuth(
            grant="private_key_jwt",
            client_id=given["client_id"],
            private_key=given["private_key_pem"],
            signing_algorithm=given["signing_algorithm"],
            issuer=await issuer_of(url),
        )
    if scenario == "auth/client-credentials-basic":
        return McpAuth(grant="client_credentials", issuer=await issuer_of(url), **names)
    if scenario == "auth/cross-app-access-complete-flow":
        return McpAuth(
            grant="identity_assertion",
            issuer=await issuer_of(url),
            identity_token=given["idp_id_token"],
            identity_endpoint=given["idp_token_endpoint"],
            identity_client_id=given["idp_client_id"],
            **names,
        )
    if scenario == "auth/pre-registration":
        return McpAuth(issuer=await issuer_of(url), **names)
    return McpAuth(client_metadata_url=METADATA_URL)


async def main(url: str) -> None:
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    auth = await settings(os.environ.get("MCP_CONFORMANCE_SCENARIO", ""), url, given)
    server = McpServer("conformance", url=url, elicitation=accept_defaults, auth=auth, login=browser)
    for tool in await server.tools():
        properties = tool.parameters.get("properties", {})
        print(
            tool.name,
            await server.call(tool.name, {name: VALUES.get(field.get("type")) for name, field in properties.items()}),
        )
    await server.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
