"""The agents as models of an OpenAI-compatible server: chat completions, so that existing clients can use them.

When a client of this protocol disconnects, its run is cancelled, unless it gave an `Idempotency-Key`. `tools` of a
request are executed by the client; the agent's own tools run here and are not shown.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from treadle._server.api.operations import Call, Routes, answer
from treadle._server.errors import bad_request, error_body, not_found
from treadle._server.protocols.exchange import AgentRequest, Exchange, Outcome, TextDelta, data
from treadle._server.protocols.run_lookup import begin
from treadle._server.protocols.tool_choice import Mode, ToolChoice
from treadle._server.protocols.untyped_json import results_of
from treadle._tools.external import client_tool
from treadle._types.usage import Usage

routes = Routes("openai")

ToolName = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$")]
Conversation = Annotated[str, Meta(max_length=64, pattern="^[A-Za-z0-9_.-]*$")]


class ChatMessage(Struct, frozen=True, kw_only=True):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[dict[str, Any]] | None = None
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None


class StreamOptions(Struct, frozen=True, kw_only=True):
    include_usage: bool | None = None


class Function(Struct, frozen=True, kw_only=True):
    name: ToolName
    description: Annotated[str, Meta(max_length=20_000)] | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ChatTool(Struct, frozen=True, kw_only=True):
    """A tool that the client executes."""

    function: Function
    type: Literal["function"] = "function"


class NamedTool(Struct, frozen=True, kw_only=True):
    name: ToolName


class ToolReference(Struct, frozen=True, kw_only=True, tag_field="type", tag="function"):
    function: NamedTool


class AllowedToolList(Struct, frozen=True, kw_only=True):
    mode: Literal["auto", "required"]
    tools: Annotated[list[ToolReference], Meta(max_length=128)]


class AllowedTools(Struct, frozen=True, kw_only=True, tag_field="type", tag="allowed_tools"):
    allowed_tools: AllowedToolList


class AnswerSchema(Struct, frozen=True, kw_only=True):
    schema: dict[str, Any] | None = None
    name: str = ""
    description: str | None = None
    strict: bool | None = None


class ResponseFormat(Struct, frozen=True, kw_only=True):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: AnswerSchema | None = None


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
    stop: (
        Annotated[str, Meta(max_length=1000)]
        | Annotated[list[Annotated[str, Meta(max_length=1000)]], Meta(max_length=16)]
        | None
    ) = None
    """The answer ends before the first of these."""
    tools: Annotated[list[ChatTool], Meta(max_length=128)] | None = None
    """Tools that the client executes, beside those of the agent."""
    tool_choice: Mode | ToolReference | AllowedTools | None = None
    """Which of `tools` are called; the agent's own are not chosen here."""
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    conversation: Conversation | None = None
    """Not of OpenAI's: goes on with this conversation of the server; of `messages`, only the last is read then."""


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


class CalledFunction(Struct, frozen=True):
    name: str
    arguments: str


class ChatCall(Struct, frozen=True):
    id: str
    function: CalledFunction
    type: Literal["function"] = "function"


class AnswerMessage(Struct, frozen=True):
    content: str | None
    role: Literal["assistant"] = "assistant"
    refusal: str | None = None
    tool_calls: list[ChatCall] | msgspec.UnsetType = msgspec.UNSET


class Choice(Struct, frozen=True):
    message: AnswerMessage
    finish_reason: Literal["stop", "length", "tool_calls"]
    index: int = 0
    logprobs: None = None


class ChatAnswer(Struct, frozen=True):
    id: str
    created: int
    model: str
    choices: list[Choice]
    usage: ChatUsage
    object: Literal["chat.completion"] = "chat.completion"
    metadata: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    """`ledger`: what became of each call that acts, as JSON."""


@routes("GET", "/v1/models", ModelList)
async def list_models(call: Call) -> Response:
    """List the agents, as models."""
    return answer(ModelList([ModelBody(name) for name in call.hub.agents]))


@routes("GET", "/v1/models/{model:path}", ModelBody, errors=(404,))
async def get_model(call: Call) -> Response:
    """Return one agent, as a model."""
    name = call.path("model")
    if name not in call.hub.agents:
        raise not_found(f"model {name[:80]!r}")
    return answer(ModelBody(name))


@routes(
    "POST", "/v1/chat/completions", (ChatAnswer, "text/event-stream"), body=ChatRequest, errors=(404, 409, 422, 424)
)
async def chat(call: Call) -> Response:
    """Ask an agent as if it were a model."""
    request: ChatRequest = call.body
    exchange = await begin(call, _agent_request(request))
    if request.stream:
        usage = bool(request.stream_options and request.stream_options.include_usage)
        head = _head(exchange, request.model)
        return exchange.stream(
            _chunks(exchange, head, usage),
            lambda error: data(error_body(error)),
            opening=_chunk(head, {"role": "assistant", "content": ""}),
        )
    outcome = await exchange.outcome()
    calls = [ChatCall(one.id, CalledFunction(one.name, one.arguments)) for one in outcome.calls]
    message = AnswerMessage(outcome.text or (None if calls else ""), tool_calls=calls or msgspec.UNSET)
    choice = Choice(message, _finish(outcome))
    answer_id = f"chatcmpl-{exchange.answer_id}"
    return exchange.answer(
        ChatAnswer(
            answer_id,
            int(time.time()),
            request.model,
            [choice],
            _usage(outcome.usage),
            metadata=outcome.metadata or msgspec.UNSET,
        ),
    )


def _agent_request(request: ChatRequest) -> AgentRequest:
    last = request.messages[-1]
    if last.role not in ("user", "tool"):
        raise bad_request("the last message must have the role 'user', or 'tool' with the result of a call")
    messages = [_message_fields(message) for message in request.messages]
    functions = [tool.function for tool in request.tools or ()]
    return AgentRequest(
        agent=request.model,
        content=last.content,
        history=messages[:-1],
        results=results_of(messages),
        tools=[client_tool(one.name, one.description or "", one.parameters) for one in functions],
        tool_choice=_choice(request.tool_choice),
        output_schema=_schema(request.response_format),
        stop=(request.stop,) if isinstance(request.stop, str) else tuple(request.stop or ()),
        settings={
            "temperature": request.temperature,
            "max_tokens": request.max_completion_tokens or request.max_tokens,
            "seed": request.seed,
            "one_tool_per_step": True if request.parallel_tool_calls is False else None,
        },
        conversation=request.conversation or "",
        request=request,
    )


def _choice(choice: Mode | ToolReference | AllowedTools | None) -> ToolChoice:
    match choice:
        case ToolReference(function=function):
            return ToolChoice(required=True, names=(function.name,))
        case AllowedTools(allowed_tools=allowed):
            return ToolChoice(allowed.mode == "required", tuple(one.function.name for one in allowed.tools))
        case mode:
            return ToolChoice.of(mode)


def _schema(wanted: ResponseFormat | None) -> dict[str, Any] | None:
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json_object":
        return {"type": "object"}
    if wanted.json_schema is None or wanted.json_schema.schema is None:
        raise bad_request("`response_format` of the type json_schema needs a schema: json_schema.schema")
    return wanted.json_schema.schema


def _message_fields(message: ChatMessage) -> dict[str, Any]:
    return {key: value for key, value in msgspec.structs.asdict(message).items() if value is not None}


def _head(exchange: Exchange, model: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{exchange.answer_id}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": model,
    }


def _chunk(head: dict[str, Any], delta: dict[str, Any], finish: str | None = None) -> bytes:
    return data({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]})


async def _chunks(exchange: Exchange, head: dict[str, Any], with_usage: bool) -> AsyncGenerator[bytes, None]:
    """Yield the answer's text as it is written. The protocol cannot retract text: words before a tool call stay, and so
    does an answer that a plug-in changed; an empty line follows. When a model call failed half-way, the stream ends
    with an error."""
    async for event in exchange.events():
        if isinstance(event, TextDelta):
            yield _chunk(head, {"content": event.text})
    outcome = await exchange.outcome_now()
    for index, one in enumerate(outcome.calls):
        function = {"name": one.name, "arguments": one.arguments}
        yield _chunk(head, {"tool_calls": [{"index": index, "id": one.id, "type": "function", "function": function}]})
    if outcome.metadata:
        head = {**head, "metadata": outcome.metadata}
    yield _chunk(head, {}, _finish(outcome))
    if with_usage:
        yield data({**head, "choices": [], "usage": _usage(outcome.usage)})
    yield b"data: [DONE]\n\n"


def _finish(outcome: Outcome) -> Literal["stop", "length", "tool_calls"]:
    return "tool_calls" if outcome.reason == "calls" else outcome.reason


def _usage(usage: Usage) -> ChatUsage:
    return ChatUsage(
        usage.input_tokens,
        usage.output_tokens,
        usage.total_tokens,
        {"cached_tokens": usage.cached_tokens},
        {"reasoning_tokens": usage.reasoning_tokens},
    )
