"""The agents for AG-UI clients: one POST starts a run or brings the results of the client's own tools, and the answer
is a stream of the protocol's events, the agent's own calls among them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from treadle._server.api.operations import Call, Routes
from treadle._server.errors import bad_request
from treadle._server.protocols.exchange import AgentRequest, CallStarted, Exchange, TextDelta, data
from treadle._server.protocols.openai_chat import ToolName
from treadle._server.protocols.run_lookup import begin
from treadle._server.protocols.untyped_json import as_text, content_of_parts, fields_of, media, objects_of, results_of
from treadle._tools.external import client_tool

routes = Routes("ag-ui")


class AgUiTool(Struct, frozen=True, kw_only=True):
    """A tool that the client executes."""

    name: ToolName
    description: Annotated[str, Meta(max_length=20_000)] = ""
    parameters: dict[str, Any] | None = None


class AgUiMessage(Struct, frozen=True, kw_only=True, rename="camel"):
    id: str = ""
    role: Literal["developer", "system", "assistant", "user", "tool", "activity", "reasoning"]
    content: Any = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None
    error: str | None = None


class AgUiContext(Struct, frozen=True, kw_only=True):
    description: str = ""
    value: str = ""


class AgUiInput(Struct, frozen=True, kw_only=True, rename="camel"):
    thread_id: Annotated[str, Meta(min_length=1, max_length=200)]
    run_id: Annotated[str, Meta(min_length=1, max_length=200)]
    messages: Annotated[list[AgUiMessage], Meta(min_length=1, max_length=2000)]
    tools: Annotated[list[AgUiTool], Meta(max_length=128)] = []
    context: Annotated[list[AgUiContext], Meta(max_length=100)] = []
    state: Any = None
    forwarded_props: Any = None


@routes("POST", "/ag-ui/{agent}", "text/event-stream", body=AgUiInput, errors=(404, 409, 422))
async def run_ag_ui(call: Call) -> Response:
    """Run an agent for an AG-UI client."""
    request: AgUiInput = call.body
    exchange = await begin(call, _agent_request(call.path("agent"), request))
    return exchange.stream(
        _chunks(exchange, request),
        lambda error: _event("RUN_ERROR", message=error.message, code=error.kind),
    )


def _agent_request(agent: str, request: AgUiInput) -> AgentRequest:
    messages = [_message(one) for one in request.messages if one.role not in ("activity", "reasoning")]
    last = messages[-1] if messages else {"role": ""}
    if last["role"] not in ("user", "tool"):
        raise bad_request("the last message must be the user's, or the result of a call")
    if request.context:
        context = "\n".join(f"{one.description}: {one.value}" for one in request.context)
        # The page around the client wrote it, and the page may show what a stranger wrote.
        messages.insert(0, {"role": "user", "content": context, "origin": "outside"})
    return AgentRequest(
        agent=agent,
        content=last.get("content", ""),
        request=msgspec.structs.replace(request, run_id=""),
        history=messages[:-1],
        results=results_of(messages),
        tools=[client_tool(one.name, one.description, one.parameters or None) for one in request.tools],
    )


def _message(message: AgUiMessage) -> dict[str, Any]:
    fields = {
        "role": message.role,
        "content": (as_text if message.role == "tool" else _content)(message.content) or message.error or "",
        "failed": True if message.error else None,
        "tool_calls": message.tool_calls,
        "tool_call_id": message.tool_call_id,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _content(content: Any) -> Any:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return content_of_parts([_part(part) for part in objects_of(cast("list[Any]", content))])


def _part(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") == "text":
        return part
    inner = fields_of(part.get("source")) or part
    url = inner.get("url") or (inner.get("value") if inner.get("type") == "url" else "")
    data = inner.get("data") or (inner.get("value") if inner.get("type") == "data" else "")
    mime = str(inner.get("mimeType") or "application/octet-stream")
    return media(mime, data=data, url=url, name=part.get("filename"))


def _event(kind: str, **fields: Any) -> bytes:
    return data({"type": kind, **fields})


async def _chunks(exchange: Exchange, request: AgUiInput) -> AsyncGenerator[bytes, None]:
    ids = {"threadId": request.thread_id, "runId": request.run_id}
    message, count = "", 0
    yield _event("RUN_STARTED", **ids)
    async for event in exchange.events():
        if isinstance(event, TextDelta):
            if not message:
                message = f"{exchange.run_id}-{request.run_id}-{count}"
                yield _event("TEXT_MESSAGE_START", messageId=message, role="assistant")
            yield _event("TEXT_MESSAGE_CONTENT", messageId=message, delta=event.text)
            continue
        if message:
            yield _event("TEXT_MESSAGE_END", messageId=message)
            message, count = "", count + 1
        call_id = f"{exchange.run_id}-{event.id}"
        if isinstance(event, CallStarted):
            for chunk in _call(call_id, event.name, event.arguments):
                yield chunk
        else:
            result = {"messageId": f"{call_id}-result", "toolCallId": call_id, "role": "tool"}
            yield _event("TOOL_CALL_RESULT", **result, content=event.text)
    if message:
        yield _event("TEXT_MESSAGE_END", messageId=message)
    outcome = await exchange.outcome_now()
    for one in outcome.calls:
        for chunk in _call(one.id, one.name, one.arguments):
            yield chunk
    yield _event("RUN_FINISHED", **ids)


def _call(call_id: str, name: str, arguments: str) -> list[bytes]:
    return [
        _event("TOOL_CALL_START", toolCallId=call_id, toolCallName=name),
        _event("TOOL_CALL_ARGS", toolCallId=call_id, delta=arguments),
        _event("TOOL_CALL_END", toolCallId=call_id),
    ]
