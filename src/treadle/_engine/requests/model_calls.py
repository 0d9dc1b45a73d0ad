"""Model calls: reserved before they are made, retried when that can help, recorded whatever happens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import TypeVar

import msgspec

from treadle._dialects.watching.base import Everything, Piece, Watcher
from treadle._engine.core.execution import Execution
from treadle._engine.core.hooks import Pause, run_hooks
from treadle._engine.requests.media import shown
from treadle._engine.requests.render import digest_of
from treadle._engine.requests.spending import reserve, settle, spent_by_failure, spent_by_reply
from treadle._models.base import Model, model_failure
from treadle._models.transport.wire import replace_surrogates
from treadle._types.errors import BadReplyError, ModelError
from treadle._types.events import (
    CUT_OFF,
    AnswerPartial,
    ProviderToolsUsed,
    Sent,
    TextStreamed,
    ThinkDone,
    ThinkFailed,
    ThinkStarted,
)
from treadle._types.messages import AssistantMessage, Message, ToolCall
from treadle._types.request import (
    CallDelta,
    OutputFormat,
    RawCall,
    ReasoningDelta,
    Reply,
    Request,
    StreamPart,
    TextDelta,
    ToolSchema,
)
from treadle._types.state import ANSWERING, CONVERSATION
from treadle._types.usage import NO_USAGE

OUTPUT = "output"
"""The component that turns an answer into a typed one."""
JUDGE = "analyzer"
"""Whose reply holds the answer of a plan, among other things."""
_SAVE_EVERY = 1.0
"""Seconds between two records of an answer that streams."""
_AT_ONCE = 1_000
"""Characters of a stream that are looked at in one turn of the event loop."""
_Part = TypeVar("_Part", Reply, TextDelta | ReasoningDelta)
_UNFINISHED = BadReplyError("the reply is not complete")


async def call_model(run: Execution, request: Request, iteration: int) -> tuple[Reply, float]:
    """One reply and the seconds it took, after as many attempts as the retry policy allows."""
    policy = run.settings.retry
    began = time.perf_counter()
    attempt = 1
    while True:
        if run.masks is not None:
            await run.masks.check(request)
        sent, reservation = await reserve(run, request, iteration)
        shown = _Show(run, sent, iteration)
        try:
            reply = await _receive(run, run.current.model, sent, shown)
        except ModelError as error:
            usage = spent_by_failure(run, sent, error, shown.received)
            if reservation is not None:
                await settle(run, reservation, usage)
            again = attempt < policy.attempts and policy.retryable(error)
            wait = policy.delay(attempt, error) if again else None
            if wait is None:
                await shown.save()
            await run.emit(ThinkFailed(request.component, iteration, attempt, str(error)[:500], wait, usage))
            if wait is None:  # what was shown of it stays until something takes its place
                raise
            if shown.any:
                run.answer.void(request.component, attempt + 1)
            attempt += 1
            run.early.discard()
            await asyncio.sleep(wait)
            continue
        except BaseException as error:
            if reservation is not None or shown.received:
                usage = spent_by_failure(run, sent, error, shown.received)
                if reservation is not None:
                    await settle(run, reservation, usage)
                if not run.life.abandoned:  # what was shown, and what was spent on it, is in the log, too
                    await shown.save()
                    await run.emit(ThinkFailed(request.component, iteration, attempt, CUT_OFF, None, usage))
            raise
        usage = spent_by_reply(run, sent, reply)
        if reservation is not None:
            await settle(run, reservation, usage)
        reply = reply if usage is reply.usage else msgspec.structs.replace(reply, usage=usage)
        if reply.used or reply.citations:  # before the reply itself: what it asks for was written with this in mind
            await run.emit(ProviderToolsUsed(request.component, iteration, reply.used, reply.citations))
        return reply, time.perf_counter() - began


async def checked_call(run: Execution, request: Request, iteration: int) -> tuple[Reply, float]:
    """A model call with the plug-ins' checks beside it. The reply counts once all of them have passed; whatever fails
    first stops the rest."""
    calling = asyncio.ensure_future(call_model(run, request, iteration))
    checks = [asyncio.ensure_future(run_hooks([hook], run.context)) for hook in run.hooks.beside_first_request]
    try:
        await asyncio.wait([calling, *checks], return_when=asyncio.FIRST_EXCEPTION)
    finally:
        if left := [task for task in (calling, *checks) if not task.done()]:
            for task in left:
                task.cancel()
            await asyncio.wait(left)
    failed = None if calling.cancelled() else calling.exception()
    for check in checks:
        if not check.cancelled() and (objection := check.exception()) is not None:
            run.early.discard()
            if run.answer.text:  # not a thought that was shown too early: it is not to be seen at all
                run.answer.void(request.component)
            raise objection from failed
    return calling.result()


async def ask(
    run: Execution,
    component: str,
    messages: Sequence[Message],
    *,
    tools: tuple[ToolSchema, ...] = (),
    tool_choice: str = "auto",
    format: OutputFormat | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
    stream: bool = False,
    tuned: bool = False,
    decision_after: str = "",
) -> Reply:
    """A recorded call outside the conversation (planner, observer, selection, synthesis ...).

    A reply that is already in the log (the process died after it) is taken from there instead of being asked for again.
    """
    state = run.state
    if run.masks is not None:
        messages, tools = [await run.masks.taken(message) for message in messages], await run.masks.taken(tools)
    digest = digest_of(messages, tools, format)
    if replies := run.recovered.get((component, digest)):
        done = replies.pop(0)
        message = done.message
        calls = [RawCall(one.id, one.name, one.raw or msgspec.json.encode(one.args).decode()) for one in message.calls]
        return Reply(message.text, tuple(calls), message.reasoning, usage=NO_USAGE, options=done.options)
    profile = run.current.model.profile
    request = Request(
        messages=[shown(message, profile) for message in messages],
        tools=tools,
        tool_choice=tool_choice,
        format=format,
        temperature=run.settings.temperature if temperature is None else temperature,
        max_tokens=max_tokens or run.settings.max_tokens,
        stream=stream,
        component=component,
        tuned=tuned,
        decision_after=decision_after,
        cache=run.current.cache_for(component),
    )
    seqs = {id(entry.message): entry.seq for entry in state.conversation.window}
    sent = tuple(Sent(seq=seqs[id(m)]) if id(m) in seqs else Sent(message=m) for m in messages)
    await run.emit(ThinkStarted(component, state.turn.iteration, digest, messages=sent, tools=tools, format=format))
    reply, elapsed = await call_model(run, request, state.turn.iteration)
    kept = tuple(ToolCall(call.id, call.name, raw=call.arguments) for call in reply.calls)
    message = AssistantMessage(reply.text, kept, reply.reasoning)
    await run.emit(
        ThinkDone(
            component,
            state.turn.iteration,
            message,
            finish=reply.finish,
            usage=reply.usage,
            elapsed=elapsed,
            digest=digest,
            options=reply.options,
        )
    )
    return reply


class _Show:
    """Shows one attempt at a reply while it is written, to whoever watches the run."""

    __slots__ = ("_component", "_iteration", "_looked_at", "_request", "_run", "_saved", "_saved_at", "_watcher", "any",
                 "received")  # fmt: skip

    def __init__(self, run: Execution, request: Request, iteration: int) -> None:
        self.any = False
        """Whether anything has been shown."""
        self.received = 0
        """The bytes of the reply so far."""
        self._run, self._request, self._component, self._iteration = run, request, request.component, iteration
        self._saved = 0
        self._saved_at = asyncio.get_running_loop().time()
        self._watcher: Watcher | None = None
        self._looked_at = 0
        """Characters since other work of the event loop was let in."""

    async def part(self, part: TextDelta | ReasoningDelta) -> None:
        """Show it. Everything else goes on between pieces, however much comes at once."""
        if not self._run.log.watched:
            return
        for begin in range(0, len(part.text), _AT_ONCE):
            text = part.text[begin : begin + _AT_ONCE]
            if self._looked_at + len(text) > _AT_ONCE:
                self._looked_at = 0
                await asyncio.sleep(0)
            self._looked_at += len(text)
            self._text(text, reasoning=isinstance(part, ReasoningDelta))

    def _text(self, text: str, *, reasoning: bool) -> None:
        if reasoning:
            self._thought(text, reasoning=True)
            return
        if self._component == OUTPUT:
            self._run.answer.grow(text)
            return
        if self._watcher is None:
            self._watcher = _watcher(self._run, self._component)
        for piece in self._watcher.feed(text):
            self._piece(piece)

    async def save_in_time(self) -> None:
        """Store what was shown of the answer, if that was not done for a second."""
        if self.any and asyncio.get_running_loop().time() - self._saved_at >= _SAVE_EVERY:
            await self.save()

    async def save(self) -> None:
        """Store what was shown of the answer since it was stored last."""
        text = self._run.log.shown_answer
        self._saved_at = asyncio.get_running_loop().time()
        if len(text) > self._saved:
            at, self._saved = self._saved, len(text)
            usage = spent_by_failure(self._run, self._request, _UNFINISHED, self.received)
            await self._run.emit(AnswerPartial(text[at:], at, self._component, usage))

    def _piece(self, piece: Piece) -> None:
        in_loop = self._component in CONVERSATION
        if not piece.answer or (in_loop and self._run.settings.answer != "direct"):
            self._thought(piece.text)
            return
        if piece.begins:
            self._run.answer.retract()
            self._saved = 0
        if piece.text:
            self.any = True
            self._run.answer.add(piece.text, provisional=piece.provisional)

    def _thought(self, text: str, *, reasoning: bool = False) -> None:
        if text and (self._run.settings.stream_thoughts or self._component not in CONVERSATION):
            self.any = True
            self._run.show(TextStreamed(self._component, self._iteration, text, reasoning))


def _watcher(run: Execution, component: str) -> Watcher:
    """Return what reads a component's reply: the words of an answer, those of a thought, or both."""
    if component == "final" or (component in CONVERSATION and run.state.constraints.answer_only):
        from treadle._dialects.watching.answers import answer_watcher  # only for runs that end so

        return answer_watcher(run.current.dialect)
    if component == JUDGE:
        from treadle._dialects.watching.json_fields import AnswerField  # only for plans that are watched

        return AnswerField()
    if component in CONVERSATION:
        return run.current.dialect.watch(tools=bool(run.state.tools) and run.blueprint.output_type is None)
    return Everything(answer=component in ANSWERING)


async def _receive(run: Execution, model: Model, request: Request, shown: _Show) -> Reply:
    reply: Reply | None = None
    stream: AsyncIterator[StreamPart] | None = None
    try:
        stream = model.stream(request)
        async for part in stream:
            if run.life.stopping:
                await run.life.check()
            if isinstance(part, Reply):
                reply = _encodable(part)
            elif isinstance(part, CallDelta):
                shown.received += len(part.arguments)
                if request.component in CONVERSATION:
                    run.early.feed(run, part)
                elif request.component == OUTPUT and part.arguments:
                    run.answer.grow(part.arguments)
                elif request.component == JUDGE:
                    await shown.part(TextDelta(part.arguments))
                    await shown.save_in_time()
            else:
                shown.received += len(part.text)
                await shown.part(part if part.text.isascii() else _encodable(part))
                await shown.save_in_time()
    except BaseException as error:
        if (close := getattr(stream, "aclose", None)) is not None:
            with suppress(Exception):
                await close()
        cancelled = isinstance(error, asyncio.CancelledError) and bool(run.life.stopping)
        if isinstance(error, Exception | asyncio.CancelledError) and not cancelled and not isinstance(error, Pause):
            failure = model_failure(model, error)
            if failure is not error:
                raise failure from error
        raise
    if reply is None:
        raise BadReplyError(f"{model.name} ended its stream without a reply")
    return reply


def _encodable(part: _Part) -> _Part:
    """A model in this process can write half of a surrogate pair, which no log and no request can hold."""
    try:
        msgspec.json.encode(part)
    except UnicodeEncodeError:
        return msgspec.convert(replace_surrogates(msgspec.to_builtins(part)), type(part))
    return part
