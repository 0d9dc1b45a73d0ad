"""What a person has said about the tools of an MCP server: the only word that makes one of them less than `unsafe`.

A server describes its own tools, and its hints are a stranger's. The answer is kept with a hash of everything that was
shown: how the server is reached, and the name, description, schema and hints of each tool. When any of it changes, the
whole server counts as not reviewed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec

from treadle._safety.logs import get_logger
from treadle._safety.trust import Kind, ServerReview, TrustStore
from treadle._tools.base import Effect
from treadle._tools.mcp.transport import Endpoint
from treadle._types.errors import ConfigError

if TYPE_CHECKING:
    from mcp_types import Tool as RemoteTool

logger = get_logger()

EFFECTS: Mapping[Kind, Effect] = {
    "reads": "pure",
    "changes safely": "idempotent",
    "changes": "unsafe",
    "sends": "unsafe",
}


def digest_of(endpoint: Endpoint, listed: Sequence[RemoteTool]) -> str:
    """Return the hash of what a reviewer sees."""
    reached = (endpoint.url, endpoint.command, endpoint.args)
    tools = sorted(tool.model_dump_json(include={"name", "title", "description", "input_schema", "annotations"})
                   for tool in listed)  # fmt: skip
    return sha256(msgspec.json.encode((reached, tools))).hexdigest()


def reviewed_effects(name: str, endpoint: Endpoint, listed: Sequence[RemoteTool]) -> dict[str, Effect]:
    """Return the effects of the tools that a person has reviewed; none when the server is not as it was then."""
    try:
        review = TrustStore().server(name)
    except ConfigError as error:  # what cannot be relied on loosens nothing
        logger.warning("MCP server %s counts as not reviewed: %s", name, error)
        return {}
    if review is None:
        return {}
    if review.digest != digest_of(endpoint, listed):
        logger.warning("the MCP server %s has changed since you reviewed it: treadle mcp review %s", name, name)
        return {}
    return {tool: EFFECTS[kind] for tool, kind in review.tools.items()}


def suggested(tool: RemoteTool) -> Kind:
    """Return what a server's own hints say, to begin a review with."""
    hints = tool.annotations
    if hints is None:
        return "sends"
    if hints.read_only_hint:
        return "reads"
    return "changes safely" if hints.idempotent_hint and hints.destructive_hint is False else "changes"


def accept(name: str, endpoint: Endpoint, listed: Sequence[RemoteTool], kinds: Mapping[str, Kind]) -> None:
    """Remember what a person said about each tool."""
    TrustStore().accept_server(name, ServerReview(digest_of(endpoint, listed), dict(kinds)))
