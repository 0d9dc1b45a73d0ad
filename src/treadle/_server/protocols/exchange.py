"""The part that all protocols share: the request to an agent, and the run's log as events and an outcome.

`run_lookup.py` chooses the run that answers a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct
from starlette.background import BackgroundTask
from starlette.responses import Response

from treadle._agent.presets import takes_back
from treadle._engine.core.decisions import waiting_calls
from treadle._engine.core.masks import Masks
from treadle._engine.run import Run
from treadle._engine.surfaces.answer_pieces import BREAK
from treadle._safety.logs import get_logger
from treadle._server.api.operations import Call, answer
from treadle._server.errors import ApiError
from treadle._server.live.branches import OwnedRun
from treadle._server.live.channel import Channel
from treadle._server.live.follower import Follower
from treadle._server.live.positions import START, ClientEvent, Position
from treadle._server.live.projection import Projection
from treadle._server.live.repeats import Place
from treadle._server.live.sse import HEARTBEAT, EventStream, payload
from treadle._server.protocols.endings import is_cut_off, refuse_unless_answered
from treadle._server.protocols.tool_choice import AUTO, ToolChoice
from treadle._tools.base import Tool
from treadle._types.errors import JournalError, RunBusyError
from treadle._types.events import LedgerEntry, Paused, Record
from treadle._types.state import RunState, fold
from treadle._types.usage import NO_USAGE, Usage

logger = get_logger("treadle.server")
T = TypeVar("T")


class AgentRequest(Struct, frozen=True, kw_only=True):
    """A request of any protocol, in the form that the engine takes."""

    agent: str
    content: Any = ""
    history: Sequence[Any] = ()
    results: Mapping[str, Any] = {}
    """Results of calls that the client executed, by the ids of those; a request with results asks nothing new."""
    tools: Sequence[Tool] = ()
    tool_choice: ToolChoice = AUTO
    output_schema: dict[str, Any] | None = None
    stop: tuple[str, ...] = ()
    settings: Mapping[str, Any] = {}
    conversation: str = ""
    """Goes on with what the journal has of it, in place of a history."""
    follows: str = ""
    request: Struct
    """The request as it was sent, without fields that change when it is sent again: it identifies a repetition."""
    message_id: str = ""
    """The client's own id of the request, in protocols that have one."""


class TextDelta(Struct, frozen=True):
    """More of the answer. Protocols cannot retract text: words before a call stay, and an empty line follows them."""

    text: str


class CallStarted(Struct, frozen=True):
    """The start of one of the agent's own calls."""

    id: str
    name: str
    args: dict[str, Any]

    @property
    def arguments(self) -> str:
        return msgspec.json.encode(self.args).decode()


class CallDone(Struct, frozen=True):
    id: str
    name: str
    text: str
    error: bool


class ClientCall(CallStarted, frozen=True):
    """A call that the client has to execute."""


class Outcome(Struct, frozen=True):
    """The answer of a run to one request, or the calls that the run waits for."""

    run_id: str
    text: str
    reason: Literal["stop", "length", "calls"]
    usage: Usage
    """The usage of this request, without that of earlier requests to the same run."""
    calls: tuple[ClientCall, ...] = ()
    stop_sequence: str = ""
    """The one of the request's stop sequences that ended the text."""
    ledger: tuple[LedgerEntry, ...] = ()
    """What became of each call that acts."""

    @property
    def metadata(self) -> dict[str, str]:
        """What the protocols with a field for it are given beside the answer: texts, as their clients expect."""
        return {"ledger": msgspec.json.encode(self.ledger).decode()} if self.ledger else {}


class Cut:
    """Text up to the first of some stop sequences, which may arrive in pieces."""

    def __init__(self, stop: Sequence[str]) -> None:
        self._stop = [text for text in stop if text]
        self._held: str = ""
        self.sequence = ""
        """The stop sequence at which the text ended."""

    def feed(self, text: str, *, last: bool = False) -> str:
        if not self._stop:
            return text
        if self.sequence:
            return ""
        text = self._held + text
        self._held = ""
        if places := [(at, one) for one in self._stop if (at := text.find(one)) >= 0]:
            at, self.sequence = min(places)
            return text[:at]
        if last:
            return text
        # The end of the text may be the beginning of a stop sequence: it waits for the next piece.
        ends = (text[-size:] for size in range(min(max(map(len, self._stop)) - 1, len(text)), 0, -1))
        self._held = next((end for end in ends if any(one.startswith(end) for one in self._stop)), "")
        return text.removesuffix(self._held)


def run_of_answer(answer_id: str) -> str:
    return answer_id.partition("~")[0]


class Exchange:
    """One request and the run that answers it. Data that are masked in the log are restored here, for the clients of
    all protocols: in the stream, in the outcome and in other values of the log (`restored`)."""

    def __init__(
        self,
        call: Call,
        run_id: OwnedRun,
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
        """Whether the run ends with the connection: its client has no way to come back for it."""
        self._after, self._typed, self._stop = after, typed, tuple(stop)
        self._before = before
        """The usage of the run before this request."""
        self._place = place
        """The note of the request; None for one that is identified by the calls it answers."""
        self._held = place is not None
        self._broken = False
        """The client has got a part of the answer that is not true any more."""
        self._masks: Masks | None = None
        self._masks_loaded = False
        if place is not None:
            call.context.repeats.hold(place)

    @property
    def answer_id(self) -> str:
        """The id of this answer in a protocol: that of the run, and where in its log it goes on with the results of the
        client's calls. Clients take two answers with one id for one."""
        return self.run_id if self._after == START else f"{self.run_id}~{self._after.seq}"

    async def state(self) -> RunState:
        return self.run.state if self.run is not None else fold(await self.call.hub.records(self.run_id))

    async def restored(self, value: T) -> T:
        """Return a value of the log with the data that are masked in it."""
        masks = await self._masks_of_run()
        return value if masks is None else masks.restored(value)

    async def _masks_of_run(self) -> Masks | None:
        if not self._masks_loaded:
            self._masks, self._masks_loaded = await self.call.hub.masks_of_run(self.run_id), True
        return self._masks

    async def _may_be_taken_back(self) -> bool:
        try:
            return takes_back((await self.call.hub.served(self.run_id))[0])
        except ApiError:  # of an agent that is not served any more: it has ended
            return False

    # ---- the whole answer

    async def outcome(self) -> Outcome:
        """Wait for the end, or for calls that the client has to execute. A client that goes away stops its run, unless
        it can come back for it."""
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
        """Wait for a run that another process drives."""
        async for _ in self._followed():
            pass

    async def settled(self) -> None:
        """Wait until nobody drives the run here any more."""
        if self.run is not None and self.run.begun:
            await asyncio.wait([self.run.task])

    async def outcome_now(self) -> Outcome:
        """Return the outcome of a run that has ended or paused; raise `ApiError` when it has no answer."""
        state = await self.state()
        records = await self._records()
        usage = state.usage - self._before
        calls = await self.restored(client_calls(self.run_id, records))
        if state.paused is not None and calls:
            return Outcome(self.run_id, await self.restored(state.turn.thought), "calls", usage, calls)
        try:
            refuse_unless_answered(self.run_id, state)
        except ApiError as error:
            raise error.saying(await self.restored(error.message)) from None
        assert state.finished is not None
        text = await self.restored(state.finished.answer)
        cut = Cut(self._stop)
        text = cut.feed(text, last=True)
        short = state.finished.stop_reason in ("limit", "budget") or is_cut_off(records)
        reason = "length" if short and not cut.sequence else "stop"
        ledger = await self.restored(state.ledger.entries)
        return Outcome(self.run_id, text, reason, usage, stop_sequence=cut.sequence, ledger=ledger)

    async def _records(self) -> Sequence[Record]:
        return self.run.records if self.run is not None else await self.call.hub.records(self.run_id)

    def leave(self) -> None:
        if self.cancels and self.run is not None and not self.run.done:
            self._hold_until_ended(self.run)
            self.run.cancel()

    def _hold_until_ended(self, run: Run[Any]) -> None:
        """Keep a run that is being cancelled from being taken for one that has lost its client."""
        if (place := self._place) is not None:
            repeats = self.call.context.repeats
            repeats.hold(place)
            run.task.add_done_callback(lambda _: repeats.release(place))

    # ---- as it happens

    async def events(self) -> AsyncGenerator[TextDelta | CallStarted | CallDone, None]:
        """Yield events until the run ends or waits. An answer that must fit a schema, or that a plug-in may take back,
        comes as a whole at the end."""
        cut, has_text, gap, void = Cut(self._stop), False, "", False
        whole = self._typed or await self._may_be_taken_back()
        async for event in self._followed():
            name, data = event.name, event.data
            if name == "answer" and data.get("status") == "delta":
                if void:
                    raise self._restarted()
                has_text = True
                if not whole and (text := cut.feed(gap + data["content"])):
                    yield TextDelta(text)
                gap = ""
            elif has_text and (data.get("status") == "retracted" or data.get("replaced")):
                has_text, gap = False, BREAK
            elif name == "reset" and has_text and not whole:
                if data["wait"] is not None:
                    raise self._restarted()
                void = True  # no harm is done unless other words follow; when a run is stopped, none do
            elif name == "step" and data.get("type") == "iteration":
                yield _step(data)
        if whole:
            if text := await self._whole_text():
                yield TextDelta(text)
        elif rest := cut.feed("", last=True):
            yield TextDelta(rest)

    def _restarted(self) -> ApiError:
        self._broken, self.cancels = True, self.cancels and self._place is None
        return ApiError(503, "restarted", "the answer had to be restarted: send the request again")

    async def _whole_text(self) -> str:
        """Return the answer; nothing where there is none, for which `outcome_now` has the reason."""
        finished = (await self.state()).finished
        if finished is None or (self._typed and finished.error):
            return ""
        with suppress(ApiError):
            return (await self.outcome_now()).text
        return ""

    async def _followed(self) -> AsyncGenerator[ClientEvent, None]:
        hub = self.call.hub
        follower = hub.follower(self.run_id, self._after, masks=await self._masks_of_run())
        channel = follower.channel
        channel.followers += 1
        try:
            while not channel.closed or channel.live:  # a server that stops lets runs finish for a while
                version = channel.version
                for event in await follower.step():
                    if event.data.get("call_id") not in follower.projection.state.calls.results:
                        yield event  # the client has its own calls already, and made their results
                if follower.projection.finished or (not channel.live and not follower.behind and self._over(follower)):
                    return
                if not follower.behind:
                    settings = self.call.context.settings
                    if not await channel.changed(version, settings.heartbeat if channel.live else settings.poll):
                        await self._take_up(channel, follower)
        finally:
            channel.followers -= 1
            hub.release(channel)

    async def _take_up(self, channel: Channel, follower: Follower) -> None:
        """Resume a run here when the process that drove it is gone."""
        if self.run is not None or channel.live or follower.projection.state.paused is not None:
            return
        hub = self.call.hub
        if (await self.call.runs.info(self.run_id)).status == "idle":
            with suppress(RunBusyError):
                self.run = await hub.resume(self.run_id, self.call.principal.key)

    def _over(self, follower: Follower) -> bool:
        """Return whether nothing more will come: the run has paused, or nobody drives it."""
        return self.run is not None or follower.projection.state.paused is not None

    # ---- the response

    def stream(
        self,
        chunks: AsyncGenerator[bytes, None],
        failed: Callable[[ApiError], bytes],
        *,
        opening: bytes = b"",
        alive: bytes = HEARTBEAT,
    ) -> EventStream:
        """Send the chunks of a protocol; `failed` writes an error that ends the stream in the protocol's own form. An
        `opening` waits for the first chunk: a run that fails before has the status it has without a stream."""
        context, key = self.call.context, self.call.principal.key
        streams, settings = context.streams, context.settings
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
            self._chunks(chunks),
            send_timeout=settings.send_timeout,
            heartbeat=settings.heartbeat,
            on_end=end,
            on_sent=self.sent,
            opening=opening,
            alive=alive,
            failed=failed,
        )
        self._mark(response)
        return response

    async def _chunks(self, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    yield chunk
        finally:
            self.leave()

    def answer(self, value: Any) -> Response:
        response = answer(value)
        response.background = BackgroundTask(self.sent)
        self._mark(response)
        return response

    def _mark(self, response: Response) -> None:
        if self._place is not None and self._place.found:
            response.headers["idempotent-replayed"] = "true"

    async def sent(self) -> None:
        """Note that the whole response has been sent: the same request again wants a run of its own from now on, unless
        this response said that the run was interrupted. Of a run that needs no client, the response may come first."""
        place = self._place
        try:
            if place is not None and not place.named and not self._broken:
                state = await self.state()
                if not self.cancels or state.finished is not None or state.paused is not None:
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
    """Return the calls that a paused run wants from its client, with ids that say where they stand in the log."""
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


def _step(data: Mapping[str, Any]) -> CallStarted | CallDone:
    if data["status"] == "start":
        return CallStarted(data["call_id"], data["tool_name"], dict(data["tool_args"]))
    return CallDone(data["call_id"], data["tool_name"], data["observation"], bool(data["error"]))


def steps_of(records: Sequence[Record]) -> list[CallStarted | CallDone]:
    """Return the agent's own calls in a log."""
    projection = Projection("plain")
    shown = [event.data for record in records for event in projection.feed(record) if event.name == "step"]
    clients = projection.state.calls.results
    return [_step(data) for data in shown if data.get("type") == "iteration" and data["call_id"] not in clients]


async def _disconnected(call: Call) -> None:
    while (await call.request.receive())["type"] != "http.disconnect":
        pass


def data(value: Any) -> bytes:
    """Encode one event of a stream that has only data."""
    return b"data: " + payload(value) + b"\n\n"


def named_data(name: str, value: Any) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + payload(value) + b"\n\n"
