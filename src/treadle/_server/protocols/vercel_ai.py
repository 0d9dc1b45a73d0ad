"""The agents for `useChat` of the AI SDK: UI messages come in, the UI message stream goes out. The agent's own calls
are shown as executed by the provider; tools that a request brings are executed by the page."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from treadle._server.api.operations import Call, Routes
from treadle._server.errors import ApiError, bad_request
from treadle._server.protocols.exchange import AgentRequest, CallDone, CallStarted, Exchange, TextDelta, data
from treadle._server.protocols.openai_chat import ToolName
from treadle._server.protocols.run_lookup import begin
from treadle._server.protocols.untyped_json import as_text, content_of_parts, media
from treadle._tools.external import client_tool
from treadle._types.errors import ToolError

routes = Routes("vercel")

_DONE_MARK = b"data: [DONE]\n\n"
_DONE = ("output-available", "output-error")


class UiTool(Struct, frozen=True, kw_only=True):
    """A tool that the page executes; sent in the `body` of the transport."""

    name: ToolName
    description: Annotated[str, Meta(max_length=20_000)] = ""
    parameters: dict[str, Any] | None = None


class UiMessage(Struct, frozen=True, kw_only=True):
    role: Literal["system", "user", "assistant"]
    parts: Annotated[list[dict[str, Any]], Meta(max_length=2000)] = []
    id: str = ""


class UiChat(Struct, frozen=True, kw_only=True):
    messages: Annotated[list[UiMessage], Meta(min_length=1, max_length=2000)]
    id: str = ""
    trigger: str | None = None
    tools: Annotated[list[UiTool], Meta(max_length=128)] = []


@routes("POST", "/vercel/{agent}", "text/event-stream", body=UiChat, errors=(404, 409, 422))
async def chat_ui(call: Call) -> Response:
    """Chat with an agent from `useChat` of the AI SDK."""
    request: UiChat = call.body
    exchange = await begin(call, _agent_request(call.path("agent"), request))
    response = exchange.stream(_chunks(exchange, continues=request.messages[-1].role == "assistant"), _failed)
    response.headers["x-vercel-ai-ui-message-stream"] = "v1"
    return response


def _agent_request(agent: str, request: UiChat) -> AgentRequest:
    messages = [made for message in request.messages for made in _messages(message)]
    last = request.messages[-1]
    results = _results(last) if last.role == "assistant" else {}
    if last.role != "user" and not results:
        raise bad_request("the last message must be the user's, or hold the results of the page's own tools")
    return AgentRequest(
        agent=agent,
        content=messages[-1].get("content", "") if messages else "",
        history=messages[:-1],
        results=results,
        request=msgspec.structs.replace(request, trigger=None),
        tools=[client_tool(one.name, one.description, one.parameters) for one in request.tools],
    )


def _messages(message: UiMessage) -> list[dict[str, Any]]:
    """Convert a UI message to the common form, in which a call and its result are messages of their own."""
    made: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []

    def close() -> None:
        if parts:
            made.append({"role": message.role, "content": content_of_parts(list(parts))})
            parts.clear()

    for part in message.parts:
        kind = str(part.get("type", ""))
        if kind == "text" and part.get("text"):
            parts.append({"type": "text", "text": str(part["text"])})
        elif kind == "file":
            parts.append(_file(part))
        elif _is_call(kind) and part.get("state") in _DONE:
            close()
            name = part.get("toolName") or kind.removeprefix("tool-")
            function = {"name": name, "arguments": part.get("input")}
            made.append({"role": "assistant", "tool_calls": [{"id": part.get("toolCallId"), "function": function}]})
            made.append({"role": "tool", "tool_call_id": part.get("toolCallId"), "content": _output(part)})
    close()
    return made


def _is_call(kind: str) -> bool:
    return kind == "dynamic-tool" or kind.startswith("tool-")


def _file(part: dict[str, Any]) -> dict[str, Any]:
    mime = str(part.get("mediaType") or "application/octet-stream")
    return media(mime, url=part.get("url"), name=part.get("filename"))


def _output(part: dict[str, Any]) -> str:
    if part.get("state") == "output-error":
        return str(part.get("errorText") or "it failed")
    return as_text(part.get("output"))


def _results(last: UiMessage) -> dict[str, Any]:
    """Return the results of the last step's calls that the page executed."""
    steps = [index for index, part in enumerate(last.parts) if part.get("type") == "step-start"]
    step: Sequence[dict[str, Any]] = last.parts[steps[-1] :] if steps else last.parts
    mine = [part for part in step if _is_call(str(part.get("type", ""))) and not part.get("providerExecuted")]
    return {
        str(part.get("toolCallId", "")): ToolError(_output(part)) if part["state"] == "output-error" else _output(part)
        for part in mine
        if part.get("state") in _DONE
    }


async def _chunks(exchange: Exchange, *, continues: bool) -> AsyncGenerator[bytes, None]:
    count, in_text = 0, False
    yield data({"type": "start"} if continues else {"type": "start", "messageId": f"msg-{exchange.run_id}"})
    yield data({"type": "start-step"})
    async for event in exchange.events():
        if isinstance(event, TextDelta):
            if not in_text:
                in_text, count = True, count + 1
                yield data({"type": "text-start", "id": f"text-{count}"})
            yield data({"type": "text-delta", "id": f"text-{count}", "delta": event.text})
            continue
        if in_text:
            in_text = False
            yield data({"type": "text-end", "id": f"text-{count}"})
        for chunk in _own_call(exchange.run_id, event):
            yield data(chunk)
    if in_text:
        yield data({"type": "text-end", "id": f"text-{count}"})
    outcome = await exchange.outcome_now()
    for one in outcome.calls:
        yield data({"type": "tool-input-start", "toolCallId": one.id, "toolName": one.name})
        yield data({"type": "tool-input-available", "toolCallId": one.id, "toolName": one.name, "input": one.args})
    yield data({"type": "finish-step"})
    yield data({"type": "finish"})
    yield _DONE_MARK


def _failed(error: ApiError) -> bytes:
    return data({"type": "error", "errorText": error.message}) + _DONE_MARK


def _own_call(run_id: str, event: CallStarted | CallDone) -> list[dict[str, Any]]:
    whose: dict[str, Any] = {"toolCallId": f"{run_id}-{event.id}", "providerExecuted": True, "dynamic": True}
    if isinstance(event, CallStarted):
        start = {"type": "tool-input-start", **whose, "toolName": event.name}
        return [start, {"type": "tool-input-available", **whose, "toolName": event.name, "input": event.args}]
    if event.error:
        return [{"type": "tool-output-error", **whose, "errorText": event.text}]
    return [{"type": "tool-output-available", **whose, "output": event.text}]
