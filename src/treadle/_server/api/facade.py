"""The agents as models of an OpenAI-compatible server, so that existing chat clients can use them.

A client of this protocol cannot reconnect to a run: when it disconnects, its run is cancelled.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from treadle._engine.run import Run
from treadle._engine.surfaces.answer_pieces import BREAK
from treadle._server.api.operations import Call, Operation, answer
from treadle._server.errors import ApiError, bad_request, not_found
from treadle._server.live.follower import Follower
from treadle._server.live.sse import HEARTBEAT, EventStream
from treadle._types.ids import fresh_id
from treadle._types.usage import Usage


class ChatMessage(Struct, frozen=True, kw_only=True):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[dict[str, Any]] | None = None
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None


class StreamOptions(Struct, frozen=True, kw_only=True):
    include_usage: bool | None = None


class ChatRequest(Struct, frozen=True, kw_only=True):
    """Fields that make no difference to an agent are ignored; fields that would change the answer are refused."""

    model: str
    messages: Annotated[list[ChatMessage], Meta(min_length=1, max_length=2000)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None
    n: Literal[1] | None = None
    tools: Annotated[list[dict[str, Any]], Meta(max_length=0)] | None = None
    """Must be empty: the agent has its own tools."""


class ModelBody(Struct, frozen=True):
    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "treadle"


class ModelList(Struct, frozen=True):
    data: list[ModelBody]
    object: Literal["list"] = "list"


class ChatUsage(Struct, frozen=True):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: dict[str, int]
    completion_tokens_details: dict[str, int]


class AnswerMessage(Struct, frozen=True):
    content: str
    role: Literal["assistant"] = "assistant"
    refusal: str | None = None


class Choice(Struct, frozen=True):
    message: AnswerMessage
    finish_reason: Literal["stop", "length"]
    index: int = 0
    logprobs: None = None


class ChatAnswer(Struct, frozen=True):
    id: str
    created: int
    model: str
    choices: list[Choice]
    usage: ChatUsage
    object: Literal["chat.completion"] = "chat.completion"


async def list_models(call: Call) -> Response:
    return answer(ModelList([ModelBody(name) for name in call.hub.agents]))


async def get_model(call: Call) -> Response:
    name = call.path("model")
    if name not in call.hub.agents:
        raise not_found(f"model {name[:80]!r}")
    return answer(ModelBody(name))


async def chat(call: Call) -> Response:
    request: ChatRequest = call.body
    *past, last = request.messages
    if last.role != "user":
        raise bad_request("the last message must have the role 'user'")
    settings = {
        "temperature": request.temperature,
        "max_tokens": request.max_completion_tokens or request.max_tokens,
        "seed": request.seed,
    }
    run_id = fresh_id()
    run = await call.hub.start(
        call.hub.agent(request.model),
        last.content,  # pyright: ignore[reportArgumentType] - the engine reads what clients write as content
        history=[_message_fields(message) for message in past],
        run_id=run_id,
        conversation=run_id,
        user=call.principal.user,
        key=call.principal.key,
        **{key: value for key, value in settings.items() if value is not None},
    )
    if not request.stream:
        return await _complete_answer(call, run, request.model)
    usage = bool(request.stream_options and request.stream_options.include_usage)
    call.context.streams.acquire(call.principal.key)
    return EventStream(
        _chunks(call, run, request.model, usage),
        send_timeout=call.context.settings.send_timeout,
        on_end=lambda: call.context.streams.release(call.principal.key),
    )


def _message_fields(message: ChatMessage) -> dict[str, Any]:
    return {key: value for key, value in msgspec.structs.asdict(message).items() if value is not None}


async def _complete_answer(call: Call, run: Run, model: str) -> Response:
    assert run.task is not None
    disconnected = asyncio.ensure_future(_disconnected(call))
    try:
        await asyncio.wait([run.task, disconnected], return_when=asyncio.FIRST_COMPLETED)
    finally:
        disconnected.cancel()
        if not run.done:
            run.cancel()
    _refuse_unless_answered(run)
    finished = run.state.finished
    text, reason = (finished.answer, finished.stop_reason) if finished else ("", "cancelled")
    usage = _usage(run.state.usage)
    return answer(
        ChatAnswer(f"chatcmpl-{run.id}", int(time.time()), model, [Choice(AnswerMessage(text), _finish(reason))], usage)
    )


async def _disconnected(call: Call) -> None:
    while (await call.request.receive())["type"] != "http.disconnect":
        pass


def _refuse_unless_answered(run: Run) -> None:
    if (paused := run.state.paused) is not None:
        path = f"/api/runs/{run.id}/approvals"
        text = f"run {run.id} waits for approval ({paused.reason}): decide at {path}"
        raise ApiError(409, "approval_required", text, again=False)
    finished = run.state.finished
    if finished is not None and finished.stop_reason == "empty":  # it was asked again already, in the run
        raise ApiError(502, "empty_answer", finished.error or "the model gave no answer", again=False)
    if finished is None or finished.stop_reason in ("error", "cancelled") or (finished.error and not finished.answer):
        text = (
            finished.error
            if finished is not None and finished.error
            else "the run was cancelled before it had an answer"
        )
        raise ApiError(503, "run_failed", text)


async def _chunks(call: Call, run: Run, model: str, with_usage: bool) -> AsyncGenerator[bytes, None]:
    """The answer's text as it is written. The protocol cannot retract text: words before a tool call stay, and so does
    an answer that a plug-in changed; an empty line follows. When a model call failed half-way, the stream ends with an
    error."""
    head = {"id": f"chatcmpl-{run.id}", "object": "chat.completion.chunk", "created": int(time.time()), "model": model}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        return _data({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]})

    has_text, gap = False, ""
    try:
        yield chunk({"role": "assistant", "content": ""})
        async with aclosing(_answer_events(call, run)) as events:
            async for name, data in events:
                if name == "heartbeat":
                    yield HEARTBEAT
                elif name == "answer" and data.get("status") == "delta":
                    has_text = True
                    yield chunk({"content": gap + data["content"]})
                    gap = ""
                elif has_text and (data.get("status") == "retracted" or data.get("replaced")):
                    has_text, gap = False, BREAK
                elif name == "reset" and has_text:
                    yield _data(
                        {
                            "error": {
                                "type": "restarted",
                                "message": "the answer had to be restarted: send the request again",
                                "code": 503,
                            }
                        }
                    )
                    return
        _refuse_unless_answered(run)
        assert run.state.finished is not None
        yield chunk({}, _finish(run.state.finished.stop_reason))
        if with_usage:
            yield _data({**head, "choices": [], "usage": _usage(run.state.usage)})
        yield b"data: [DONE]\n\n"
    except ApiError as error:
        yield _data({"error": {"type": error.kind, "message": error.message, "code": error.status}})
    finally:
        if not run.done:
            run.cancel()


async def _answer_events(call: Call, run: Run) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
    channel = call.hub.channel(run.id)
    follower = Follower(channel, call.hub.journal)
    channel.followers += 1
    try:
        while not channel.closed:
            version = channel.version
            for event in await follower.step():
                yield event.name, event.data
            if follower.projection.finished or (not channel.live and not follower.behind):
                return
            if not follower.behind and not await channel.changed(version, call.context.settings.heartbeat):
                yield "heartbeat", {}
    finally:
        channel.followers -= 1
        call.hub.release(channel)


def _data(value: Any) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def _finish(stop_reason: str) -> Literal["stop", "length"]:
    return "length" if stop_reason in ("limit", "budget") else "stop"


def _usage(usage: Usage) -> ChatUsage:
    return ChatUsage(
        usage.input_tokens,
        usage.output_tokens,
        usage.total_tokens,
        {"cached_tokens": usage.cached_tokens},
        {"reasoning_tokens": usage.reasoning_tokens},
    )


OPERATIONS = (
    Operation(
        method="POST",
        path="/v1/chat/completions",
        handler=chat,
        tag="openai",
        body=ChatRequest,
        errors=(404, 409, 502),
        summary="Ask an agent as if it were a model.",
        answers={200: (ChatAnswer, "text/event-stream")},
    ),
    Operation(
        method="GET",
        path="/v1/models",
        handler=list_models,
        tag="openai",
        summary="The agents, as models.",
        answers={200: ModelList},
    ),
    Operation(
        method="GET",
        path="/v1/models/{model:path}",
        handler=get_model,
        tag="openai",
        errors=(404,),
        summary="One agent, as a model.",
        answers={200: ModelBody},
    ),
)
