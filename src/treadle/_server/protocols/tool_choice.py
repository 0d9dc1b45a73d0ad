"""`tool_choice` of a request: which of the client's tools have to be called, or must not be.

The agent's own tools are not the client's to choose: it goes on using them, and answers the request with a call of one
of the client's tools where the request asks for one.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from msgspec import Struct

from treadle._server.errors import bad_request
from treadle._types.events import ReplyConstrained

Mode = Literal["none", "auto", "required"]


class ToolChoice(Struct, frozen=True):
    """Any protocol's choice."""

    required: bool = False
    names: tuple[str, ...] | None = None
    """The client's tools that may be called; None: all."""

    @classmethod
    def of(cls, mode: str | None) -> ToolChoice:
        return cls(mode in ("required", "any"), () if mode == "none" else None)

    def constraint(self, tools: Collection[str]) -> ReplyConstrained | None:
        """Return what it asks of a run that has these tools of its client; None where it asks nothing."""
        for name in self.names or ():
            if name not in tools:
                listed = ", ".join(tools) or "none"
                raise bad_request(
                    f"`tool_choice` names {name[:80]!r}, which is not one of the request's `tools` ({listed}): "
                    "an agent chooses among its own tools itself"
                )
        if self.required and not tools:
            raise bad_request("`tool_choice` asks for a call, and the request has no `tools` that could be called")
        barred = () if self.names is None else tuple(name for name in tools if name not in self.names)
        if not self.required and not barred:
            return None
        return ReplyConstrained("client", self.required, barred, until_call=True)


AUTO = ToolChoice()
