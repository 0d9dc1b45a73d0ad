"""The agents as models of Anthropic's Messages API. `tools` of a request are executed by the client; the agent's own
tools run here and are not shown."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from starlette.responses import Response

from treadle._engine.run import tokens_at_start
from treadle._server.api.operations import Call, Routes, answer
from treadle._server.errors import bad_request, error_body
from treadle._server.protocols.exchange import AgentRequest, Exchange, Outcome, TextDelta, named_data
from treadle._server.protocols.openai_chat import ToolName
from treadle._server.protocols.run_lookup import begin
from treadle._server.protocols.tool_choice import ToolChoice
from treadle._server.protocols.untyped_json import as_text, content_of_parts, fields_of, media, results_of
from treadle._tools.external import client_tool
from treadle._types.usage import Usage

routes = Routes("anthropic")

_STOP = {"stop": "end_turn", "length": "max_tokens", "calls": "tool_use"}


class AnthropicMessage(Struct, frozen=True, kw_only=True):
    role: Literal["user", "assistant", "system"]
    content: str | list[dict[str, Any]]


class AnthropicTool(Struct, frozen=True, kw_only=True):
    """A tool that the client executes."""

    name: ToolName
    input_schema: dict[str, Any]
    description: Annotated[str, Meta(max_length=20_000)] | None = None
    type: Literal["custom"] | None = None


class AnthropicChoice(Struct, frozen=True, kw_only=True):
    type: Literal["auto", "none", "any", "tool"]
    name: ToolName | None = None
    """The tool that has to be called, for the type `tool`."""
    disable_parallel_tool_use: bool | None = None


class AnswerFormat(Struct, frozen=True, kw_only=True):
    type: Literal["json_schema"]
    schema: dict[str, Any]


class OutputConfig(Struct, frozen=True, kw_only=True):
    format: AnswerFormat | None = None


class MessagesRequest(Struct, frozen=True, kw_only=True):
    """Fields that make no difference to an agent are ignored; fields that would change the answer are refused."""

    model: str
    messages: Annotated[list[AnthropicMessage], Meta(min_length=1, max_length=2000)]
    max_tokens: Annotated[int, Meta(ge=1, le=1_000_000)]
    system: str | list[dict[str, Any]] | None = None
    stream: bool | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    stop_sequences: Annotated[list[Annotated[str, Meta(max_length=1000)]], Meta(max_length=16)] | None = None
    tools: Annotated[list[AnthropicTool], Meta(max_length=128)] | None = None
    tool_choice: AnthropicChoice | None = None
    output_config: OutputConfig | None = None
    output_format: AnswerFormat | None = None


class CountRequest(MessagesRequest, frozen=True, kw_only=True):
    max_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] = 1


class TokenCount(Struct, frozen=True):
    input_tokens: int


class AnthropicUsage(Struct, frozen=True):
    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class MessageBody(Struct, frozen=True):
    id: str
    model: str
    content: list[dict[str, Any]]
    stop_reason: str | None
    usage: AnthropicUsage
    stop_sequence: str | None = None
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"


@routes("POST", "/v1/messages", (MessageBody, "text/event-stream"), body=MessagesRequest, errors=(404, 409, 422, 424))
async def create_message(call: Call) -> Response:
    """Ask an agent as if it were a model, in Anthropic's Messages protocol."""
    request: MessagesRequest = call.body
    exchange = await begin(call, _agent_request(request))
    if request.stream:
        return exchange.stream(
            _chunks(exchange),
            lambda error: named_data("error", error_body(error)),
            opening=_event("message_start", message=_body(exchange, request.model, [], None)),
            alive=_event("ping"),
        )
    outcome = await exchange.outcome()
    content: list[dict[str, Any]] = [{"type": "text", "text": outcome.text}] if outcome.text else []
    content += [{"type": "tool_use", "id": one.id, "name": one.name, "input": one.args} for one in outcome.calls]
    return exchange.answer(_body(exchange, request.model, content, outcome))


@routes("POST", "/v1/messages/count_tokens", TokenCount, body=CountRequest, errors=(404,))
async def count_tokens(call: Call) -> Response:
    """Estimate the tokens of an agent's first request for these messages."""
    asked = _agent_request(call.body)
    question: Any = "\n".join(map(str, asked.results.values())) if asked.results else asked.content
    run = call.hub.agent(asked.agent).prepare(question or "-", history=asked.history, client_tools=asked.tools)
    return answer(TokenCount(tokens_at_start(run)))


def _agent_request(request: MessagesRequest) -> AgentRequest:
    messages: list[dict[str, Any]] = []
    if system := _text(request.system):
        messages.append({"role": "system", "content": system})
    for message in request.messages:
        messages += _messages(message)
    results = results_of(messages)
    last = messages[-1]
    if not results and last["role"] != "user":
        raise bad_request("the last message must be the user's, or hold the results of calls")
    choice = request.tool_choice
    wanted = (request.output_config.format if request.output_config is not None else None) or request.output_format
    return AgentRequest(
        agent=request.model,
        content=last.get("content", ""),
        history=messages[:-1],
        results=results,
        request=request,
        tools=[client_tool(one.name, one.description or "", one.input_schema) for one in request.tools or ()],
        tool_choice=_choice(choice),
        output_schema=wanted.schema if wanted is not None else None,
        stop=tuple(request.stop_sequences or ()),
        settings={
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "one_tool_per_step": True if choice is not None and choice.disable_parallel_tool_use else None,
        },
    )


def _choice(choice: AnthropicChoice | None) -> ToolChoice:
    if choice is None or choice.type != "tool":
        return ToolChoice.of(choice.type if choice is not None else None)
    if choice.name is None:
        raise bad_request("`tool_choice` of the type tool needs the `name` of the tool")
    return ToolChoice(required=True, names=(choice.name,))


def _text(content: str | Sequence[dict[str, Any]] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(str(block.get("text", "")) for block in content if block.get("type") == "text")


def _messages(message: AnthropicMessage) -> list[dict[str, Any]]:
    """Convert a message to the common form, in which results of calls are messages of their own."""
    if isinstance(message.content, str):
        return [{"role": message.role, "content": message.content}]
    parts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    made: list[dict[str, Any]] = []
    for block in message.content:
        match block.get("type"):
            case "text":
                parts.append({"type": "text", "text": str(block.get("text", ""))})
            case "image" | "document":
                parts.append(_media(block))
            case "tool_use":
                function = {"name": block.get("name"), "arguments": block.get("input")}
                calls.append({"id": block.get("id"), "function": function})
            case "tool_result":
                text, failed = as_text(block.get("content")), bool(block.get("is_error"))
                made.append(
                    {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": text, "failed": failed}
                )
            case "thinking" | "redacted_thinking":
                pass
            case other:
                raise bad_request(f"a block has the type {str(other)[:40]!r}, which is not known here")
    if parts or calls:
        made.append(
            {"role": message.role, "content": content_of_parts(parts), **({"tool_calls": calls} if calls else {})}
        )
    return made or [{"role": message.role, "content": ""}]


def _media(block: dict[str, Any]) -> dict[str, Any]:
    source = fields_of(block.get("source"))
    mime = str(source.get("media_type") or ("image/png" if block["type"] == "image" else "application/pdf"))
    data = source.get("data")
    if source.get("type") == "text":
        data = b64encode(str(data).encode()).decode()
    return media(mime, data=data, url=source.get("url"), name=block.get("title"))


def _body(exchange: Exchange, model: str, content: list[dict[str, Any]], outcome: Outcome | None) -> MessageBody:
    return MessageBody(
        f"msg_{exchange.answer_id}",
        model,
        content,
        _stop_reason(outcome) if outcome is not None else None,
        _usage(outcome.usage) if outcome is not None else AnthropicUsage(0, 0),
        (outcome.stop_sequence or None) if outcome is not None else None,
    )


def _event(name: str, **fields: Any) -> bytes:
    return named_data(name, {"type": name, **fields})


async def _chunks(exchange: Exchange) -> AsyncGenerator[bytes, None]:
    index, in_text = -1, False
    async for update in exchange.events():
        if isinstance(update, TextDelta):
            if not in_text:
                index, in_text = index + 1, True
                yield _event("content_block_start", index=index, content_block={"type": "text", "text": ""})
            yield _event("content_block_delta", index=index, delta={"type": "text_delta", "text": update.text})
    if in_text:
        yield _event("content_block_stop", index=index)
    outcome = await exchange.outcome_now()
    for one in outcome.calls:
        index += 1
        block: dict[str, Any] = {"type": "tool_use", "id": one.id, "name": one.name, "input": {}}
        yield _event("content_block_start", index=index, content_block=block)
        delta = {"type": "input_json_delta", "partial_json": one.arguments}
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    ended = {"stop_reason": _stop_reason(outcome), "stop_sequence": outcome.stop_sequence or None}
    yield _event("message_delta", delta=ended, usage=_usage(outcome.usage))
    yield _event("message_stop")


def _stop_reason(outcome: Outcome) -> str:
    return "stop_sequence" if outcome.stop_sequence else _STOP[outcome.reason]


def _usage(usage: Usage) -> AnthropicUsage:
    plain = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
    return AnthropicUsage(max(0, plain), usage.output_tokens, usage.cached_tokens, usage.cache_write_tokens)
