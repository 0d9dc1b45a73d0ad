"""A model whose replies come from a script: for most of our tests, and for users' tests of their agents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec

from treadle._models.base import Closing
from treadle._safety.bounds import Count, bounded
from treadle._types.errors import ConfigError, ModelError
from treadle._types.messages import AssistantMessage, SystemMessage, text_of
from treadle._types.profile import Profile
from treadle._types.request import CallDelta, RawCall, ReasoningDelta, Reply, Request, StreamPart, TextDelta
from treadle._types.usage import Usage

Entry = Any
"""A str, a `Reply`, a call `{"name", "args"}` or a list of them, an exception, or a callable of the request that
returns one of these."""


class ScriptedModel(Closing):
    """Replies in the order of `script`; the last entry may be repeated with `repeat_last`.

    `.requests` keeps every request as it was sent. `chunk` is the size of the streamed pieces.
    """

    @bounded
    def __init__(
        self,
        script: Iterable[Entry] | Callable[[Request], Entry] = (),
        *,
        abilities: Mapping[str, Any] | None = None,
        name: str = "scripted",
        profile: Profile | None = None,
        repeat_last: bool = False,
        chunk: Count = 8,
    ) -> None:
        base = profile or Profile(
            tool_call=True, parallel_calls=True, forced_tool=True, json_mode=True, json_schema=True
        )
        self.name = name
        self.profile = base.with_abilities(dict(abilities or {}))
        self.requests: list[Request] = []
        self._script = script if callable(script) else _checked(script)
        self._repeat_last = repeat_last
        self.chunk = chunk
        self._next = 0

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        for part in entry_parts(self.keep(request), request, len(self.requests), self.chunk):
            yield part

    def keep(self, request: Request) -> Entry:
        """Note a request, and take the entry that answers it."""
        # The engine keeps appending to its list of messages: keep this request as it is now.
        self.requests.append(request.replace(messages=tuple(request.messages), cache=None))
        return self._take(request)

    def _take(self, request: Request) -> Entry:
        script = self._script
        if callable(script):
            entry: Entry = script(request)
        elif self._next < len(script):
            entry = script[self._next]
            self._next += 1
        elif self._repeat_last and script:
            entry = script[-1]
        else:
            raise ModelError(
                f"the script of {self.name!r} has {len(script)} entries and all are used: "
                "add one, or set repeat_last=True"
            )
        return entry(request) if callable(entry) else entry


def _checked(script: Iterable[Entry]) -> list[Entry]:
    """The entries of a script; what can be no reply is refused before anything depends on it."""
    if isinstance(script, str | Mapping | Reply):
        raise ConfigError("a script is a list of replies: write ScriptedModel([...])")
    entries = list(script)
    for number, entry in enumerate(entries):
        _check_entry(entry, f"entry {number} of the script")
    return entries


def _check_entry(entry: Entry, where: str) -> None:
    if isinstance(entry, str | Reply | BaseException) or callable(entry):
        return
    items: Any = [entry] if isinstance(entry, Mapping) else entry
    if not isinstance(items, list | tuple) or not all(isinstance(item, Mapping) for item in cast("list[Any]", items)):
        kind = type(cast("Any", entry)).__name__
        raise ConfigError(
            f'{where} cannot be {kind}: write text, a call {{"name": ..., "args": {{...}}}}, a list of '
            "calls, a Reply, an exception, or a function of the request"
        )
    for item in cast("list[Mapping[str, Any]]", items):
        if "name" not in item:
            raise ConfigError(f'{where} is a call without a name: write {{"name": "tool", "args": {{...}}}}')


def entry_parts(entry: Entry, request: Request, number: int, chunk: int) -> Iterator[StreamPart]:
    """Yield the stream of a model that answers with this entry."""
    if isinstance(entry, BaseException):
        raise entry
    reply = to_reply(entry, request, number)
    if request.stream:
        yield from _pieces(reply, chunk)
    yield reply


def to_reply(entry: Entry, request: Request, number: int) -> Reply:
    """A script entry as a reply. Usage is counted as four characters a token, so that budgets can be tested."""
    if isinstance(entry, Reply):
        return (
            entry
            if entry.usage.requests
            else msgspec.structs.replace(entry, usage=_usage(request, entry.text, entry.calls))
        )
    if isinstance(entry, str):
        return Reply(text=entry, usage=_usage(request, entry, ()))
    items: list[Mapping[str, Any]] = [entry] if isinstance(entry, Mapping) else list(entry)
    calls = tuple([_call(item, f"call_{number}_{index}") for index, item in enumerate(items)])
    return Reply(calls=calls, finish="calls", usage=_usage(request, "", calls))


def _call(item: Mapping[str, Any], call_id: str) -> RawCall:
    args = item.get("args", item.get("arguments", {}))
    return RawCall(
        str(item.get("id", call_id)),
        str(item["name"]),
        args if isinstance(args, str) else msgspec.json.encode(args).decode(),
    )


def _usage(request: Request, text: str, calls: tuple[RawCall, ...]) -> Usage:
    written = len(text) + sum(len(call.arguments) + len(call.name) for call in calls)
    return Usage(input_tokens=_input_tokens(request), output_tokens=max(1, written // 4), requests=1)


def _input_tokens(request: Request) -> int:
    """Four characters a token, and at least ten tokens a message: what fills a window fills it here, too. What was
    counted of a conversation is kept with it."""
    slots: dict[str, Any] = request.cache.slots if request.cache is not None else {}
    counted, chars, last = slots.get("scripted", (0, 0, None))
    if not 0 < counted <= len(request.messages) or request.messages[counted - 1] is not last:
        counted, chars = 0, 0
    for message in request.messages[counted:]:
        if isinstance(message, AssistantMessage):
            chars += len(message.text) + sum(len(str(call.args)) for call in message.calls)
        else:
            chars += len(message.text) if isinstance(message, SystemMessage) else len(text_of(message.content))
    slots["scripted"] = len(request.messages), chars, request.messages[-1] if request.messages else None
    return max(10 * len(request.messages), chars // 4)


def _pieces(reply: Reply, size: int) -> Iterable[StreamPart]:
    for start in range(0, len(reply.reasoning), size):
        yield ReasoningDelta(reply.reasoning[start : start + size])
    for start in range(0, len(reply.text), size):
        yield TextDelta(reply.text[start : start + size])
    for index, call in enumerate(reply.calls):
        yield CallDelta(index, call.id, call.name)
        yield CallDelta(index, arguments=call.arguments, done=True)
