"""A model that gives the recorded reply to each request that renders to the recorded bytes, and asks for the others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, cast

import msgspec

from treadle._engine.requests.render import digest_of, request_digest
from treadle._models.base import Model
from treadle._types.events import ModelSwitched, Record, RunStarted, ThinkDone, ThinkStarted
from treadle._types.messages import AssistantMessage
from treadle._types.profile import Profile
from treadle._types.request import Finish, RawCall, Reply, Request, StreamPart
from treadle._types.state import CONVERSATION

_SAMPLING = ("temperature", "max_tokens", "seed")
"""What an adviser's request is sent with, beside what its digest is of."""


class Recorded:
    """The replies of a run by what they answered: the model, the component and the digest of the request."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._replies: dict[tuple[str, str, str], list[ThinkDone]] = {}
        self.requests = 0
        """How many requests got a reply."""
        self.used = 0
        """How many of them were made again, with the same bytes."""
        self.settings: dict[str, Any] = {}
        model, asked = "", dict[str, str]()
        for record in records:
            event = record.event
            if isinstance(event, RunStarted):
                model, self.settings = event.model, event.settings
            elif isinstance(event, ModelSwitched):
                model = event.model
            elif isinstance(event, ThinkStarted):
                asked[event.component] = event.digest
            elif isinstance(event, ThinkDone):
                self.requests += 1
                digest = event.digest or asked.get(event.component, "")
                self._replies.setdefault((model, event.component, digest), []).append(event)

    def take(self, model: str, request: Request) -> Reply | None:
        """The reply to a request of these bytes; each is given once, in the order of the run."""
        if request.component in CONVERSATION:
            digest = request_digest(request)
        elif any(self.settings.get(name) != getattr(request, name) for name in _SAMPLING if name in self.settings):
            return None
        else:
            digest = digest_of(request.messages, request.tools, request.format)
        waiting = self._replies.get((model, request.component, digest))
        if not waiting:
            return None
        self.used += 1
        return _reply(waiting.pop(0))


def _reply(done: ThinkDone) -> Reply:
    message: AssistantMessage = done.message
    native = message.dialect == "native" or done.component not in CONVERSATION
    calls = [call for call in message.calls if native and not call.from_text]
    raw = tuple(RawCall(call.id, call.name, call.raw or msgspec.json.encode(call.args).decode()) for call in calls)
    return Reply(
        text=message.text, calls=raw, reasoning=message.reasoning, finish=cast("Finish", done.finish), usage=done.usage,
        opaque=message.opaque, options=done.options,
    )  # fmt: skip


class RecordedModel:
    """A model of the changed agent, in front of which the log of a run answers."""

    def __init__(
        self, model: Model, recorded: Recorded, ask: Callable[[Model, Request], AsyncIterator[StreamPart]]
    ) -> None:
        self._model, self._recorded, self._ask = model, recorded, ask

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def profile(self) -> Profile:
        return self._model.profile

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        if (reply := self._recorded.take(self.name, request)) is not None:
            yield reply
            return
        async for part in self._ask(self._model, request):
            yield part

    async def aclose(self) -> None:
        """The model is the agent's: it stays open."""
