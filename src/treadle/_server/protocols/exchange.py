"""What all foreign protocols have in common: a request becomes a run, and the run's log the events of the protocol.

A request either asks something new, or brings the results of calls that the client executes: those continue the run
that waits for them. The id a client gets for such a call names the run, the record that paused it and the call, so
nothing has to be remembered here, and a request that is repeated after a lost response goes on where it was.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from treadle._engine.answering.output import shape_of
from treadle._engine.core.decisions import waiting_calls
from treadle._engine.run import Run
from treadle._engine.surfaces.answer_pieces import BREAK
from treadle._server.api.conversations import conversation_so_far
from treadle._server.api.operations import Call
from treadle._server.errors import ApiError, bad_request, conflict
from treadle._server.live.follower import Follower
from treadle._server.live.positions import START, ClientEvent, Position
from treadle._server.live.sse import EventStream
from treadle._server.protocols.endings import is_cut_off, refuse_unless_answered
from treadle._server.protocols.foreign import fields_of
from treadle._server.protocols.stop_sequences import Cut
from treadle._tools.base import Tool
from treadle._types.errors import ConfigError, RunBusyError
from treadle._types.events import Paused, Record
from treadle._types.ids import fresh_id
from treadle._types.state import RunState, fold
from treadle._types.usage import NO_USAGE, Usage

_CALL_ID = re.compile(r"call_([0-9a-f]{32})_(\d{1,9})_(\d{1,3})")
_END = 1 << 40


class Asked(Struct, frozen=True, kw_only=True):
    """What a request of any protocol asks."""

    agent: str
    content: Any = ""
    history: Sequence[Any] = ()
    results: Mapping[str, Any] = {}
    """Results of calls that the client executed, by the ids it was given; with them, nothing new is asked."""
    tools: Sequence[Tool] = ()
    output_schema: dict[str, Any] | None = None
    stop: tuple[str, ...] = ()
    settings: Mapping[str, Any] = {}
    conversation: str = ""
    """Goes on with what the journal has of it, in place of a history."""
    follows: str = ""
    run_id: str = ""


class Words(Struct, frozen=True):
    """More of the answer. What was given stays given: words before a call are followed by an empty line."""

    text: str


class CallStarted(Struct, frozen=True):
    """The agent begins a call of its own."""

    id: str
    name: str
    args: dict[str, Any]


class CallDone(Struct, frozen=True):
    id: str
    name: str
    text: str
    error: bool


class Silence(Struct, frozen=True):
    """Nothing has happened for a while: the connection has to be kept open."""


SILENCE = Silence()


class ClientCall(Struct, frozen=True):
    """A call that the client has to execute."""

    id: str
    name: str
    args: dict[str, Any]

    @property
    def arguments(self) -> str:
        return msgspec.json.encode(self.args).decode()


class Outcome(Struct, frozen=True):
    """What a run amounts to, for a client."""

    run_id: str
    text: str
    reason: Literal["stop", "length", "calls"]
    usage: Usage
    """What this request took: what earlier ones of the same run were told is not told again."""
    calls: tuple[ClientCall, ...] = ()
    stop_sequence: str = ""
    """The one of the request's stop sequences that ended the text."""


async def begin(call: Call, asked: Asked) -> Exchange:
    """The run that answers a request: a new one, or the one that waits for these results."""
    if asked.results:
        return await _continued(call, asked)
    if asked.output_schema is not None:
        shape_of(asked.output_schema)
    history, follows = list(asked.history), asked.follows
    run_id = asked.run_id or fresh_id()
    if asked.conversation:
        earlier = await conversation_so_far(call, asked.conversation, asked.follows)
        if earlier is not None:
            follows, past = earlier
            system = [one for one in history if fields_of(one).get("role") in ("system", "developer")]
            history = [*system, *past]
    run = await call.hub.start(
        call.hub.agent(asked.agent),
        asked.content,
        history=history,
        run_id=run_id,
        conversation=asked.conversation or run_id,
        user=call.principal.user,
        follows=follows,
        key=call.principal.key,
        client_tools=asked.tools,
        output_schema=asked.output_schema,
        **{name: value for name, value in asked.settings.items() if value is not None},
    )
    return Exchange(call, run.id, run, typed=asked.output_schema is not None, stop=asked.stop)


async def _continued(call: Call, asked: Asked) -> Exchange:
    run_id, at, named = await _named_calls(call, asked.results)
    hub = call.hub
    records = await hub.records(run_id)
    state = fold(records)
    waiting = {one.id for one in waiting_calls(state) if one.external}
    given = {call_id: value for call_id, value in named.items() if call_id in waiting}
    if not given and not all(call_id in state.results for call_id in named):
        raise conflict(
            f"run {run_id} does not wait for these results: it has been cancelled, or they were given before"
        )
    if given:
        try:
            await hub.leave_results(run_id, given, call.principal.user)
        except ConfigError as error:
            raise bad_request(str(error)) from None
    typed = state.started is not None and state.started.output_schema is not None
    run = None
    if given or (state.finished is None and state.paused is None):
        try:
            run = await hub.resume(run_id, call.principal.key)
        except RunBusyError:
            run = None  # another process drives it, and reads the results when it pauses: its log is followed
    return Exchange(
        call,
        run_id,
        run,
        after=Position(at, _END),
        typed=typed,
        stop=asked.stop,
        cancels=False,  # the client may lose this response: it comes back for it with the same request
        before=fold(records[: at + 1]).usage,
    )


async def _named_calls(call: Call, results: Mapping[str, Any]) -> tuple[str, int, dict[str, Any]]:
    """The run, the record of its pause, and the results by the engine's own ids."""
    places = {text: _CALL_ID.fullmatch(text) for text in results}
    if unknown := [text for text, found in places.items() if found is None]:
        raise bad_request(f"there is no call {unknown[0][:80]!r} here: send the id that the call came with")
    runs = {found[1] for found in places.values() if found is not None}
    if len(runs) != 1:
        raise bad_request("these results belong to several runs: send those of the last reply only")
    run_id = runs.pop()
    await call.hub.owned(run_id, call.principal.user)
    records = await call.hub.records(run_id)
    named: dict[str, Any] = {}
    at = -1
    for text, found in places.items():
        assert found is not None
        seq, index = int(found[2]), int(found[3])
        event = records[seq].event if seq < len(records) else None
        if not isinstance(event, Paused) or index >= len(event.calls):
            raise bad_request(f"there is no call {text[:80]!r} here: send the id that the call came with")
        named[event.calls[index].id] = results[text]
        at = max(at, seq)
    return run_id, at, named


class Exchange:
    """One request and the run that answers it."""

    def __init__(
        self,
        call: Call,
        run_id: str,
        run: Run[Any] | None,
        *,
        after: Position = START,
        typed: bool = False,
        stop: Sequence[str] = (),
        cancels: bool = True,
        before: Usage = NO_USAGE,
    ) -> None:
        self.call, self.run_id, self.run = call, run_id, run
        self.cancels = cancels
        """Whether the run ends with the connection: the client could not come back for it."""
        self._after, self._typed, self._stop = after, typed, tuple(stop)
        self._before = before
        """What the run had taken before this request."""

    async def state(self) -> RunState:
        return self.run.state if self.run is not None else fold(await self.call.hub.records(self.run_id))

    # ---- the whole answer

    async def outcome(self) -> Outcome:
        """Waits for the end, or for calls that the client has to execute. A client that goes away stops its run, unless
        it could come back for it."""
        end = self.run.task if self.run is not None else asyncio.ensure_future(self._followed_to_its_end())
        disconnected = asyncio.ensure_future(_disconnected(self.call))
        try:
            await asyncio.wait([end, disconnected], return_when=asyncio.FIRST_COMPLETED)
        finally:
            disconnected.cancel()
            self.leave()
            if self.run is None:
                end.cancel()
        return await self.outcome_now()

    async def _followed_to_its_end(self) -> None:
        """For a run that another process drives."""
        async for _ in self._followed():
            pass

    async def settled(self) -> None:
        """Waits until nobody drives the run here any more."""
        if self.run is not None and self.run.begun:
            await asyncio.wait([self.run.task])

    async def outcome_now(self) -> Outcome:
        """What the run amounts to; `ApiError` when it has no answer."""
        state = await self.state()
        records = await self._records()
        usage = state.usage - self._before
        calls = client_calls(self.run_id, records)
        if state.paused is not None and calls:
            return Outcome(self.run_id, _said(state), "calls", usage, calls)
        refuse_unless_answered(self.run_id, state)
        assert state.finished is not None
        text = state.finished.answer
        if self._typed and state.finished.output is not None:
            text = msgspec.json.encode(state.finished.output).decode()
        cut = Cut(self._stop)
        text = cut.feed(text, last=True)
        short = state.finished.stop_reason in ("limit", "budget") or is_cut_off(records)
        reason = "length" if short and not cut.found else "stop"
        return Outcome(self.run_id, text, reason, usage, stop_sequence=cut.found)

    async def _records(self) -> Sequence[Record]:
        return self.run.records if self.run is not None else await self.call.hub.records(self.run_id)

    def leave(self) -> None:
        if self.cancels and self.run is not None and not self.run.done:
            self.run.cancel()

    # ---- as it happens

    async def events(self) -> AsyncGenerator[Words | CallStarted | CallDone | Silence, None]:
        """What happens until the run ends or waits. An answer that is held to a schema comes as a whole, at its end."""
        cut, has_text, gap = Cut(self._stop), False, ""
        async for event in self._followed():
            data = event.data if event is not None else {}
            name = event.name if event is not None else ""
            if event is None:
                yield SILENCE
            elif name == "answer" and data.get("status") == "delta":
                has_text = True
                if not self._typed and (text := cut.feed(gap + data["content"])):
                    yield Words(text)
                gap = ""
            elif has_text and (data.get("status") == "retracted" or data.get("replaced")):
                has_text, gap = False, BREAK
            elif name == "reset" and has_text and not self._typed:
                raise ApiError(503, "restarted", "the answer had to be restarted: send the request again")
            elif name == "step" and data.get("type") == "iteration":
                yield _step(data)
        if self._typed:
            state = await self.state()
            if state.finished is not None and not state.finished.error:
                yield Words((await self.outcome_now()).text)
        elif rest := cut.feed("", last=True):
            yield Words(rest)

    async def _followed(self) -> AsyncGenerator[ClientEvent | None, None]:
        hub = self.call.hub
        channel = hub.channel(self.run_id)
        follower = Follower(channel, hub.journal, self._after)
        channel.followers += 1
        try:
            while not channel.closed:
                version = channel.version
                for event in await follower.step():
                    yield event
                if follower.projection.finished or (not channel.live and not follower.behind and self._over(follower)):
                    return
                if not follower.behind:
                    settings = self.call.context.settings
                    wait = settings.heartbeat if channel.live else min(settings.poll, settings.heartbeat)
                    if not await channel.changed(version, wait):
                        yield None
        finally:
            channel.followers -= 1
            hub.release(channel)

    def _over(self, follower: Follower) -> bool:
        """Whether nothing more will come: the run has paused, or nobody drives it."""
        return self.run is not None or follower.projection.state.paused is not None

    def stream(self, chunks: AsyncGenerator[bytes, None]) -> EventStream:
        streams, key = self.call.context.streams, self.call.principal.key
        try:
            streams.acquire(key)
        except ApiError:
            self.leave()  # nobody would read the answer
            raise
        return EventStream(
            chunks, send_timeout=self.call.context.settings.send_timeout, on_end=lambda: streams.release(key)
        )


def client_calls(run_id: str, records: Sequence[Record]) -> tuple[ClientCall, ...]:
    """The calls that a paused run wants from its client, with ids that say where they stand in the log."""
    at = next((record.seq for record in reversed(records) if isinstance(record.event, Paused)), -1)
    if at < 0:
        return ()
    paused = records[at].event
    assert isinstance(paused, Paused)
    open_calls = {one.id for one in waiting_calls(fold(records)) if one.external}
    return tuple(
        ClientCall(f"call_{run_id}_{at}_{index}", one.name, one.args)
        for index, one in enumerate(paused.calls)
        if one.id in open_calls
    )


def _said(state: RunState) -> str:
    """The words that came with the calls."""
    return state.thought


def _step(data: Mapping[str, Any]) -> CallStarted | CallDone:
    if data["status"] == "start":
        return CallStarted(data["call_id"], data["tool_name"], dict(data["tool_args"]))
    return CallDone(data["call_id"], data["tool_name"], data["observation"], bool(data["error"]))


async def _disconnected(call: Call) -> None:
    while (await call.request.receive())["type"] != "http.disconnect":
        pass


def data(value: Any) -> bytes:
    """One event of a stream that has only data."""
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def named_data(name: str, value: Any) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode(value) + b"\n\n"
