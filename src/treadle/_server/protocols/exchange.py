"""What all foreign protocols have in common: what a request asks, and the run's log as the events of a protocol.

Which run answers a request: `beginning.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct
from starlette.background import BackgroundTask
from starlette.responses import Response

from treadle._engine.core.decisions import waiting_calls
from treadle._engine.masking.masks import Masks
from treadle._engine.run import Run
from treadle._engine.surfaces.answer_pieces import BREAK
from treadle._flows.presets import takes_back
from treadle._safety.logs import get_logger
from treadle._server.api.operations import Call, answer
from treadle._server.errors import ApiError
from treadle._server.live.channel import Channel
from treadle._server.live.follower import Follower
from treadle._server.live.positions import START, ClientEvent, Position
from treadle._server.live.projection import Projection
from treadle._server.live.repeats import Place
from treadle._server.live.sse import EventStream, payload
from treadle._server.protocols.endings import is_cut_off, refuse_unless_answered
from treadle._server.protocols.stop_sequences import Cut
from treadle._tools.base import Tool
from treadle._types.errors import JournalError, RunBusyError
from treadle._types.events import Paused, Record
from treadle._types.state import RunState, fold
from treadle._types.usage import NO_USAGE, Usage

logger = get_logger("treadle.server")
T = TypeVar("T")


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
    request: Struct
    """The request as it was sent, less what changes when it is sent again: by this it is known again."""
    message_id: str = ""
    """What the client calls it, in protocols where it has a name."""


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


class Exchange:
    """One request and the run that answers it. What is masked in the log is restored here, for the clients of all
    protocols: what streams, what the run amounts to, and whatever else a protocol tells of it (`said`)."""

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
        place: Place | None = None,
    ) -> None:
        self.call, self.run_id, self.run = call, run_id, run
        self.cancels = cancels
        """Whether the run ends with the connection: its client has not said that it would come back for it."""
        self._after, self._typed, self._stop = after, typed, tuple(stop)
        self._before = before
        """What the run had taken before this request."""
        self._place = place
        """The note of the request; None for one that is known by the calls it answers."""
        self._held = place is not None
        self._broken = False
        """The client has got a part of the answer that is not true any more."""
        self._masks: Masks | None = None
        self._masks_known = False
        if place is not None:
            call.context.repeats.hold(place)

    async def state(self) -> RunState:
        return self.run.state if self.run is not None else fold(await self.call.hub.records(self.run_id))

    async def said(self, value: T) -> T:
        """A value of the log as its user reads it."""
        masks = await self._masks_of_run()
        return value if masks is None else masks.restored(value)

    async def _masks_of_run(self) -> Masks | None:
        if not self._masks_known:
            self._masks, self._masks_known = await self.call.hub.masks_of_run(self.run_id), True
        return self._masks

    async def _may_be_taken_back(self) -> bool:
        try:
            return takes_back((await self.call.hub.served(self.run_id))[0])
        except ApiError:  # of an agent that is not served any more: it has ended
            return False

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
        try:
            return await self.outcome_now()
        except ApiError:
            await self.sent()
            raise

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
        calls = await self.said(client_calls(self.run_id, records))
        if state.paused is not None and calls:
            return Outcome(self.run_id, await self.said(_words_before(state)), "calls", usage, calls)
        try:
            refuse_unless_answered(self.run_id, state)
        except ApiError as error:
            raise error.saying(await self.said(error.message)) from None
        assert state.finished is not None
        text = await self.said(state.finished.answer)
        if self._typed and state.finished.output is not None:
            text = msgspec.json.encode(await self.said(state.finished.output)).decode()
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
        """What happens until the run ends or waits. An answer that is held to a schema comes as a whole, at its end; so
        does one that a plug-in may take back."""
        cut, has_text, gap = Cut(self._stop), False, ""
        whole = self._typed or await self._may_be_taken_back()
        async for event in self._followed():
            data = event.data if event is not None else {}
            name = event.name if event is not None else ""
            if event is None:
                yield SILENCE
            elif name == "answer" and data.get("status") == "delta":
                has_text = True
                if not whole and (text := cut.feed(gap + data["content"])):
                    yield Words(text)
                gap = ""
            elif has_text and (data.get("status") == "retracted" or data.get("replaced")):
                has_text, gap = False, BREAK
            elif name == "reset" and has_text and not whole:
                self._broken, self.cancels = True, self.cancels and self._place is None
                raise ApiError(503, "restarted", "the answer had to be restarted: send the request again")
            elif name == "step" and data.get("type") == "iteration":
                yield _step(data)
        if whole:
            if text := await self._whole_text():
                yield Words(text)
        elif rest := cut.feed("", last=True):
            yield Words(rest)

    async def _whole_text(self) -> str:
        """Nothing where there is no answer: `outcome_now` says why."""
        finished = (await self.state()).finished
        if finished is None or (self._typed and finished.error):
            return ""
        with suppress(ApiError):
            return (await self.outcome_now()).text
        return ""

    async def _followed(self) -> AsyncGenerator[ClientEvent | None, None]:
        hub = self.call.hub
        channel = hub.channel(self.run_id)
        follower = Follower(channel, hub.journal, self._after, masks=await self._masks_of_run())
        channel.followers += 1
        try:
            while not channel.closed or channel.live:  # a server that stops lets runs finish for a while
                version = channel.version
                for event in await follower.step():
                    yield event
                if follower.projection.finished or (not channel.live and not follower.behind and self._over(follower)):
                    return
                if not follower.behind:
                    settings = self.call.context.settings
                    wait = settings.heartbeat if channel.live else min(settings.poll, settings.heartbeat)
                    if not await channel.changed(version, wait):
                        await self._take_up(channel, follower)
                        yield None
        finally:
            channel.followers -= 1
            hub.release(channel)

    async def _take_up(self, channel: Channel, follower: Follower) -> None:
        """A run that another process drove is resumed here when that is gone."""
        if self.run is not None or channel.live or follower.projection.state.paused is not None:
            return
        hub = self.call.hub
        if (await hub.journal.info(self.run_id)).status == "idle":
            with suppress(RunBusyError):
                self.run = await hub.resume(self.run_id, self.call.principal.key)

    def _over(self, follower: Follower) -> bool:
        """Whether nothing more will come: the run has paused, or nobody drives it."""
        return self.run is not None or follower.projection.state.paused is not None

    # ---- the response

    def stream(self, chunks: AsyncGenerator[bytes, None]) -> EventStream:
        streams, key = self.call.context.streams, self.call.principal.key
        try:
            streams.acquire(key)
        except ApiError:
            self.leave()  # nobody would read the answer
            self._release()
            raise

        def end() -> None:
            streams.release(key)
            self._release()

        response = EventStream(
            chunks, send_timeout=self.call.context.settings.send_timeout, on_end=end, on_sent=self.sent
        )
        self._mark(response)
        return response

    def answer(self, value: Any) -> Response:
        response = answer(value)
        response.background = BackgroundTask(self.sent)
        self._mark(response)
        return response

    def _mark(self, response: Response) -> None:
        if self._place is not None and self._place.found:
            response.headers["idempotent-replayed"] = "true"

    async def sent(self) -> None:
        """The whole response has been sent. Who asks the same from now on wants a run of its own; not so if it was told
        that the run was interrupted."""
        place = self._place
        try:
            if place is not None and not place.named and not self._broken:
                state = await self.state()
                if state.finished is not None or state.paused is not None:
                    await self.call.context.repeats.forget(place)
        except JournalError as error:
            logger.error("run %s: its request cannot be forgotten: %s", self.run_id, error, extra={"run": self.run_id})
        finally:
            self._release()

    def _release(self) -> None:
        if self._held and self._place is not None:
            self._held = False
            self.call.context.repeats.release(self._place)


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


def _words_before(state: RunState) -> str:
    """The words that came with the calls."""
    return state.turn.thought


def _step(data: Mapping[str, Any]) -> CallStarted | CallDone:
    if data["status"] == "start":
        return CallStarted(data["call_id"], data["tool_name"], dict(data["tool_args"]))
    return CallDone(data["call_id"], data["tool_name"], data["observation"], bool(data["error"]))


def steps_of(records: Sequence[Record]) -> list[CallStarted | CallDone]:
    """The agent's own calls in a log."""
    projection = Projection("plain")
    shown = (event for record in records for event in projection.feed(record))
    return [_step(event.data) for event in shown if event.name == "step" and event.data.get("type") == "iteration"]


async def _disconnected(call: Call) -> None:
    while (await call.request.receive())["type"] != "http.disconnect":
        pass


def data(value: Any) -> bytes:
    """One event of a stream that has only data."""
    return b"data: " + payload(value) + b"\n\n"


def named_data(name: str, value: Any) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + payload(value) + b"\n\n"
