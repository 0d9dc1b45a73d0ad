"""The agents as models of OpenAI's Responses API. The agent's own calls are shown as `mcp_call` items, those that the
client executes as `function_call`; `previous_response_id` goes on with a run's conversation. A response is read,
cancelled and deleted by its id."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from treadle._server.api.operations import Call, Routes, answer
from treadle._server.errors import ApiError, bad_request, error_body, not_found
from treadle._server.live.branches import OwnedRun
from treadle._server.protocols.endings import has_output_schema
from treadle._server.protocols.exchange import (
    AgentRequest,
    CallDone,
    CallStarted,
    ClientCall,
    Exchange,
    Outcome,
    TextDelta,
    named_data,
    run_of_answer,
    steps_of,
)
from treadle._server.protocols.openai_chat import Conversation, ToolName
from treadle._server.protocols.run_lookup import begin
from treadle._server.protocols.tool_choice import Mode, ToolChoice
from treadle._server.protocols.untyped_json import as_text, content_of_parts, objects_of, results_of
from treadle._tools.external import client_tool
from treadle._types.state import RunState, fold
from treadle._types.usage import Usage

routes = Routes("openai")

_PREFIX = "resp_"


class ResponsesTool(Struct, frozen=True, kw_only=True):
    """A tool that the client executes."""

    name: ToolName
    type: Literal["function"] = "function"
    description: Annotated[str, Meta(max_length=20_000)] | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class NamedFunction(Struct, frozen=True, kw_only=True, tag_field="type", tag="function"):
    name: ToolName


class AllowedFunctions(Struct, frozen=True, kw_only=True, tag_field="type", tag="allowed_tools"):
    mode: Literal["auto", "required"]
    tools: Annotated[list[NamedFunction], Meta(max_length=128)]


class TextFormat(Struct, frozen=True, kw_only=True):
    type: Literal["text", "json_object", "json_schema"] = "text"
    schema: dict[str, Any] | None = None
    name: str | None = None
    strict: bool | None = None


class TextOptions(Struct, frozen=True, kw_only=True):
    format: TextFormat | None = None


class ResponsesRequest(Struct, frozen=True, kw_only=True):
    """Fields that make no difference to an agent are ignored; fields that would change the answer are refused."""

    model: str
    input: (
        Annotated[str, Meta(min_length=1, max_length=2_000_000)]
        | Annotated[list[dict[str, Any]], Meta(min_length=1, max_length=2000)]
    )
    instructions: Annotated[str, Meta(max_length=1_000_000)] | None = None
    previous_response_id: Annotated[str, Meta(max_length=200)] | None = None
    conversation: Conversation | None = None
    stream: bool | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    max_output_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    tools: Annotated[list[ResponsesTool], Meta(max_length=128)] | None = None
    tool_choice: Mode | NamedFunction | AllowedFunctions | None = None
    parallel_tool_calls: bool | None = None
    text: TextOptions | None = None
    background: bool | None = None
    """The run goes on without its client, which asks for the response by its id."""


class ResponseUsage(Struct, frozen=True):
    input_tokens: int
    input_tokens_details: dict[str, int]
    output_tokens: int
    output_tokens_details: dict[str, int]
    total_tokens: int


class ResponseBody(Struct, frozen=True):
    id: str
    created_at: int
    model: str
    status: Literal["in_progress", "completed", "incomplete", "failed", "cancelled"]
    output: list[dict[str, Any]]
    usage: ResponseUsage | None = None
    error: dict[str, str] | None = None
    incomplete_details: dict[str, str] | None = None
    background: bool = False
    instructions: str | None = None
    metadata: dict[str, str] = {}
    parallel_tool_calls: bool = True
    previous_response_id: str | None = None
    temperature: float | None = None
    tool_choice: Mode | NamedFunction | AllowedFunctions = "auto"
    tools: list[dict[str, Any]] = []
    top_p: float | None = None
    object: Literal["response"] = "response"


@routes(
    "POST", "/v1/responses", (ResponseBody, "text/event-stream"), body=ResponsesRequest, errors=(404, 409, 422, 424)
)
async def create_response(call: Call) -> Response:
    """Ask an agent as if it were a model, in OpenAI's Responses protocol."""
    request: ResponsesRequest = call.body
    exchange = await begin(call, await _agent_request(call, request))
    projection = ResponseProjection(exchange, request)
    if request.background:
        exchange.cancels = False
        if not request.stream:
            return exchange.answer(projection.body())
    if request.stream:
        opening = b"" if request.background else projection.opening()
        return exchange.stream(projection.chunks(), projection.failed, opening=opening)
    return exchange.answer(await projection.whole())


async def _agent_request(call: Call, request: ResponsesRequest) -> AgentRequest:
    messages = _messages(request.input)
    if request.instructions:
        messages.insert(0, {"role": "system", "content": request.instructions})
    results = results_of(messages)
    last = messages[-1] if messages else {}
    if not results and last.get("role") != "user":
        raise bad_request("the last item of `input` must be a message of the user, or the output of a call")
    conversation, follows = request.conversation or "", ""
    if request.previous_response_id and not results:
        follows = await call.runs.owned(run_of_answer(request.previous_response_id.removeprefix(_PREFIX)))
        conversation = (await call.runs.facts(follows)).conversation or follows
    wanted = request.text.format if request.text is not None and request.text.format is not None else TextFormat()
    if wanted.type == "json_schema" and wanted.schema is None:
        raise bad_request("`text.format` of the type json_schema needs a schema")
    return AgentRequest(
        agent=request.model,
        content=last.get("content", ""),
        history=messages[:-1],
        results=results,
        tools=[client_tool(one.name, one.description or "", one.parameters) for one in request.tools or ()],
        tool_choice=_choice(request.tool_choice),
        output_schema={"text": None, "json_object": {"type": "object"}, "json_schema": wanted.schema}[wanted.type],
        settings={
            "temperature": request.temperature,
            "max_tokens": request.max_output_tokens,
            "one_tool_per_step": True if request.parallel_tool_calls is False else None,
        },
        conversation=conversation,
        follows=follows,
        request=request,
    )


def _choice(choice: Mode | NamedFunction | AllowedFunctions | None) -> ToolChoice:
    match choice:
        case NamedFunction(name=name):
            return ToolChoice(required=True, names=(name,))
        case AllowedFunctions(mode=mode, tools=tools):
            return ToolChoice(mode == "required", tuple(one.name for one in tools))
        case mode:
            return ToolChoice.of(mode)


def _messages(items: str | Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Convert items to messages in the common form; items that only report what the server did are left out."""
    if isinstance(items, str):
        return [{"role": "user", "content": items}]
    messages: list[dict[str, Any]] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            messages.append({"role": item.get("role"), "content": _content(item.get("content"))})
        elif kind == "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            messages.append(
                {"role": "assistant", "content": "", "tool_calls": [{"id": item.get("call_id"), "function": function}]}
            )
        elif kind == "function_call_output":
            messages.append(
                {"role": "tool", "tool_call_id": item.get("call_id"), "content": as_text(item.get("output"))}
            )
    return messages


def _content(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    parts: list[dict[str, Any]] = []
    for part in objects_of(cast("list[Any]", content)):
        kind = part.get("type")
        if kind in ("input_text", "output_text", "text"):
            parts.append({"type": "text", "text": part.get("text", "")})
        elif kind == "refusal":
            parts.append({"type": "text", "text": part.get("refusal", "")})
        elif kind == "input_image":
            parts.append({"type": "image_url", "image_url": part.get("image_url")})
        elif kind == "input_file":
            parts.append({"type": "file", "file": part})
        else:
            raise bad_request(f"a part of the input has the type {str(kind)[:40]!r}, which is not known here")
    return content_of_parts(parts)


class ResponseProjection:
    """The log of one run as the events of a response."""

    def __init__(self, exchange: Exchange, request: ResponsesRequest) -> None:
        self._exchange, self._request = exchange, request
        self._items: list[dict[str, Any]] = []
        self._number = -1
        self._text = ""
        self._created = int(time.time())

    def body(self, outcome: Outcome | None = None) -> ResponseBody:
        request = self._request
        short = outcome is not None and outcome.reason == "length"
        return ResponseBody(
            f"{_PREFIX}{self._exchange.answer_id}",
            self._created,
            request.model,
            "in_progress" if outcome is None else "incomplete" if short else "completed",
            list(self._items),
            usage=_usage(outcome.usage) if outcome is not None else None,
            incomplete_details={"reason": "max_output_tokens"} if short else None,
            background=bool(request.background),
            instructions=request.instructions,
            metadata=outcome.metadata if outcome is not None else {},
            previous_response_id=request.previous_response_id,
            temperature=request.temperature,
            tool_choice=request.tool_choice or "auto",
            tools=[msgspec.to_builtins(tool) for tool in request.tools or ()],
        )

    async def whole(self) -> ResponseBody:
        outcome = await self._exchange.outcome()
        async for event in self._exchange.events():  # its log again: the calls that the agent has made
            if isinstance(event, CallStarted | CallDone):
                self.shown(event)
        return self.ended(outcome)

    def ended(self, outcome: Outcome) -> ResponseBody:
        if outcome.text:
            self._items.append(_message_item(self._message_id(), outcome.text, "completed"))
        self._items += [_call_item(one) for one in outcome.calls]
        return self.body(outcome)

    def opening(self) -> bytes:
        return b"".join(self._event(f"response.{name}", response=self.body()) for name in ("created", "in_progress"))

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        if self._request.background:  # its client comes back by the id, which must not wait for the first word
            yield self.opening()
        async for event in self._exchange.events():
            for chunk in self.shown(event):
                yield chunk
        outcome = await self._exchange.outcome_now()
        for chunk in self._closed():
            yield chunk
        for one in outcome.calls:
            for chunk in self._called(one):
                yield chunk
        name = "response.incomplete" if outcome.reason == "length" else "response.completed"
        yield self._event(name, response=self.body(outcome))

    def failed(self, error: ApiError) -> bytes:
        fields = {"code": error.kind, "message": error.message, "param": None}
        return self._event("error", **fields, error=error_body(error)["error"])

    def _event(self, kind: str, /, **fields: Any) -> bytes:
        self._number += 1
        return named_data(kind, {"type": kind, "sequence_number": self._number, **fields})

    def shown(self, event: TextDelta | CallStarted | CallDone) -> list[bytes]:
        if isinstance(event, TextDelta):
            return self._worded(event.text)
        item_id = f"mcp_{self._exchange.run_id}_{event.id}"
        if isinstance(event, CallStarted):
            return [*self._closed(), *self._begun(_server_call(item_id, event), "mcp_call")]
        for index, item in enumerate(self._items):
            if item["id"] == item_id:
                status = "failed" if event.error else "completed"
                done = {"error": _tool_error(event.text)} if event.error else {"output": event.text}
                self._items[index] = item = {**item, **done, "status": status}
                return [
                    self._event(f"response.mcp_call.{status}", item_id=item_id, output_index=index),
                    self._event("response.output_item.done", output_index=index, item=item),
                ]
        return []

    def _begun(self, item: dict[str, Any], kind: str) -> list[bytes]:
        """Begin a call: as the provider's own stream has it, its arguments come after the item."""
        index, arguments = len(self._items), item["arguments"]
        self._items.append(item)
        where = {"item_id": item["id"], "output_index": index}
        begun = {**item, "arguments": "", "status": "in_progress"}
        name = {"name": item["name"]} if kind == "function_call" else {}
        return [
            self._event("response.output_item.added", output_index=index, item=begun),
            *([self._event("response.mcp_call.in_progress", **where)] if kind == "mcp_call" else []),
            self._event(f"response.{kind}_arguments.delta", **where, delta=arguments),
            self._event(f"response.{kind}_arguments.done", **where, arguments=arguments, **name),
        ]

    def _message_id(self) -> str:
        return f"msg_{self._exchange.answer_id}_{len(self._items)}"

    def _worded(self, text: str) -> list[bytes]:
        chunks: list[bytes] = []
        if not self._text:
            item = _message_item(self._message_id(), "", "in_progress")
            self._items.append(item)
            where = {"item_id": item["id"], "output_index": len(self._items) - 1}
            chunks.append(self._event("response.output_item.added", output_index=where["output_index"], item=item))
            part: dict[str, Any] = {"type": "output_text", "text": "", "annotations": []}
            chunks.append(self._event("response.content_part.added", **where, content_index=0, part=part))
        self._text += text
        index = len(self._items) - 1
        where = {"item_id": self._items[index]["id"], "output_index": index, "content_index": 0}
        chunks.append(self._event("response.output_text.delta", **where, delta=text, logprobs=[]))
        return chunks

    def _closed(self) -> list[bytes]:
        """End the message that is open."""
        if not self._text:
            return []
        index = len(self._items) - 1
        item = self._items[index] = _message_item(self._items[index]["id"], self._text, "completed")
        where = {"item_id": item["id"], "output_index": index, "content_index": 0}
        text, self._text = self._text, ""
        return [
            self._event("response.output_text.done", **where, text=text, logprobs=[]),
            self._event("response.content_part.done", **where, part=item["content"][0]),
            self._event("response.output_item.done", output_index=index, item=item),
        ]

    def _called(self, one: ClientCall) -> list[bytes]:
        item, index = _call_item(one), len(self._items)
        done = {"output_index": index, "item": item}
        return [*self._begun(item, "function_call"), self._event("response.output_item.done", **done)]


def _message_item(item_id: str, text: str, status: str) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
    content = [part] if text else []
    return {"id": item_id, "type": "message", "role": "assistant", "status": status, "content": content}


def _call_item(one: ClientCall) -> dict[str, Any]:
    return {
        "id": f"fc_{one.id}",
        "type": "function_call",
        "call_id": one.id,
        "name": one.name,
        "arguments": one.arguments,
        "status": "completed",
    }


def _tool_error(text: str) -> dict[str, Any]:
    return {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": text}]}


def _server_call(item_id: str, call: CallStarted) -> dict[str, Any]:
    return {
        "id": item_id,
        "type": "mcp_call",
        "server_label": "treadle",
        "approval_request_id": None,
        "name": call.name,
        "arguments": call.arguments,
        "output": None,
        "error": None,
        "status": "in_progress",
    }


def _usage(usage: Usage) -> ResponseUsage:
    return ResponseUsage(
        usage.input_tokens,
        {"cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.cache_write_tokens},
        usage.output_tokens,
        {"reasoning_tokens": usage.reasoning_tokens},
        usage.total_tokens,
    )


# ---- a response after the request that made it: it is a run, whoever started it


class RetrieveQuery(Struct, frozen=True, kw_only=True):
    stream: str = ""


class DeletedResponse(Struct, frozen=True):
    id: str
    deleted: bool = True
    object: Literal["response"] = "response"


@routes("GET", "/v1/responses/{response_id}", ResponseBody, query=RetrieveQuery, errors=(404,))
async def get_response(call: Call) -> Response:
    """Return a response by its id, also one that is still being made."""
    query: RetrieveQuery = call.query
    if query.stream.lower() in ("true", "1"):
        raise bad_request("a response that exists is given whole: leave out `stream`, or follow /api/runs/ID/events")
    return answer(await _stored(call, await _run_id(call)))


@routes("POST", "/v1/responses/{response_id}/cancel", ResponseBody, errors=(404, 409))
async def cancel_response(call: Call) -> Response:
    """Cancel a response that is being made; one that has ended stays as it is."""
    run_id = await _run_id(call)
    run = call.hub.runs.get(run_id)
    if fold(await call.hub.records(run_id)).finished is None:
        await call.hub.cancel(run_id)
        await Exchange(call, run_id, run, cancels=False).settled()
    return answer(await _stored(call, run_id))


@routes("DELETE", "/v1/responses/{response_id}", DeletedResponse, errors=(404, 409))
async def delete_response(call: Call) -> Response:
    """Delete a response that has ended."""
    run_id = await _run_id(call)
    await call.hub.delete(run_id)
    return answer(DeletedResponse(call.path("response_id")))


async def _run_id(call: Call) -> OwnedRun:
    response_id = call.path("response_id")
    run = await call.runs.find(run_of_answer(response_id.removeprefix(_PREFIX)))
    if run is None:
        raise not_found(f"response {response_id[:80]!r}")
    return run


async def _stored(call: Call, run_id: OwnedRun) -> ResponseBody:
    records = await call.hub.records(run_id)
    state, facts = fold(records), await call.runs.facts(run_id)
    exchange = Exchange(call, run_id, call.hub.runs.get(run_id), typed=has_output_schema(state), cancels=False)
    previous = _PREFIX + facts.follows if facts.follows else None
    request = ResponsesRequest(model=facts.agent, input="?", previous_response_id=previous)
    projection = ResponseProjection(exchange, request)
    for step in steps_of(records):
        projection.shown(step)
    changes: dict[str, object] = {"id": call.path("response_id"), "created_at": int(state.created)}
    try:
        body = projection.ended(await exchange.outcome_now())
    except ApiError as error:
        body = projection.body()
        if state.finished is not None:
            changes |= _unanswered(state, error)
    return msgspec.structs.replace(body, **changes)


def _unanswered(state: RunState, error: ApiError) -> dict[str, object]:
    assert state.finished is not None
    if state.finished.stop_reason == "cancelled":
        return {"status": "cancelled"}
    return {"status": "failed", "error": {"code": "server_error", "message": error.message}}
