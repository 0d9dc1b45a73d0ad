"""The base of the writers of all wire formats: the choice of a tool, the list of tools, and replies sent back as they
came."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from treadle._models.transport.provider_tools import joined, wanted
from treadle._models.transport.wire import EncodedMessages
from treadle._types.messages import AssistantMessage
from treadle._types.profile import Profile
from treadle._types.request import OutputFormat, Request, ToolSchema


class Writer:
    """Writes request bodies for one model. `extra` is added to every body."""

    def __init__(
        self, name: str, profile: Profile, extra: Mapping[str, Any], provider_tools: Sequence[Any] = ()
    ) -> None:
        self._name = name
        self._profile = profile
        self._extra = dict(extra)
        self._provider_tools = list(provider_tools)
        self._thinks = profile.reasoning
        """Whether a reply begins with thoughts: then some models refuse a forced tool."""

    def _chosen(self, choice: str, *, none: Any, required: Any, named: Any) -> Any:
        """Return how the API says a choice of tools; None where its default is meant, or a choice would be refused."""
        if choice == "auto":
            return None
        if choice == "none":
            return none
        profile = self._profile
        if not profile.forced_tool or (self._thinks and not profile.forced_tool_while_thinking):
            return None
        return required if choice == "required" else named

    def _schema(self, request: Request) -> OutputFormat | None:
        """Return the format of the reply, where it is a schema and the API enforces it."""
        wanted = request.format
        is_schema = wanted is not None and wanted.kind == "schema" and wanted.schema is not None
        return wanted if is_schema and self._profile.json_schema else None

    def _tools(
        self,
        request: Request,
        encoded: EncodedMessages[Any],
        write: Callable[[ToolSchema], Any],
        search: Mapping[str, Any],
    ) -> bytes:
        """Return the field `tools` after a comma: ours, the provider's own, and its search if tools are deferred."""
        listed = encoded.encode_tools(request.tools, write) if request.tools else b""
        listed = joined(listed, self._provider_tools) if wanted(request) else listed
        # Last, and never deferred itself: the mark for a cache may not stand on a deferred tool.
        listed = joined(listed, [search]) if any(tool.deferred for tool in request.tools) else listed
        return b',"tools":' + listed if listed else b""

    def _stored(self, message: AssistantMessage, api: str) -> Mapping[str, Any]:
        """Return the reply in the form it came in, if it came from this model at this API; else nothing."""
        stored = message.opaque or {}
        return stored if stored.get("api") == api and stored.get("model") == self._name else {}


def is_reply(message: AssistantMessage, text: str, ids: Iterable[Any]) -> bool:
    """Tell whether a stored reply still has the text and calls of the message, which may have been shortened."""
    return text == message.text and list(ids) == [call.id for call in message.calls]
