"""The agents for other agents, by A2A 1.0 (JSON-RPC over HTTP): a card for each, tasks that are runs, streaming.

A task is a run and outlives its connection: it can be asked for, subscribed to again, or cancelled by its id. A run
that waits is `INPUT_REQUIRED`; a message to its task is the result of the one external call it waits for, or else a
message to the run.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from treadle._engine.core.decisions import waiting_calls
from treadle._flows.agent import Agent
from treadle._server.api.operations import Call, Operation, answer
from treadle._server.errors import ApiError, bad_request, conflict
from treadle._server.live.sse import HEARTBEAT
from treadle._server.protocols.endings import without_addresses
from treadle._server.protocols.exchange import Asked, Exchange, Silence, Words, begin, data
from treadle._server.protocols.foreign import content_of_parts, media
from treadle._types.state import RunState, fold
from treadle._version import __version__

PROTOCOL = "1.0"
_MODES = ["text/plain", "application/json", "image/png", "image/jpeg", "application/pdf"]
_CODES = {400: -32602, 404: -32001, 409: -32002, 422: -32602}
"""JSON-RPC's invalid parameters, and A2A's task not found and task not cancelable."""


class RpcRequest(Struct, frozen=True, kw_only=True):
    method: Annotated[str, Meta(max_length=100)]
    params: dict[str, Any] = {}
    id: str | int | None = None
    jsonrpc: Literal["2.0"] = "2.0"


class RpcAnswer(Struct, frozen=True, omit_defaults=True):
    id: str | int | None
    jsonrpc: Literal["2.0"]
    result: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    error: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class CardBody(Struct, frozen=True):
    """What other agents are told about an agent."""

    name: str
    description: str
    version: str
    supportedInterfaces: list[dict[str, str]]
    capabilities: dict[str, bool]
    defaultInputModes: list[str]
    defaultOutputModes: list[str]
    skills: list[dict[str, Any]]
    securitySchemes: dict[str, Any]
    securityRequirements: list[dict[str, Any]]


class Part(Struct, frozen=True, kw_only=True, rename="camel"):
    text: str | None = None
    raw: str | None = None
    url: str | None = None
    data: Any = None
    filename: str = ""
    media_type: str = ""


class A2aMessage(Struct, frozen=True, kw_only=True, rename="camel"):
    parts: Annotated[list[Part], Meta(min_length=1, max_length=50)]
    message_id: str = ""
    context_id: Annotated[str, Meta(max_length=64, pattern="^[A-Za-z0-9_.-]*$")] = ""
    task_id: Annotated[str, Meta(max_length=64)] = ""
    role: str = "ROLE_USER"


class SendConfiguration(Struct, frozen=True, kw_only=True, rename="camel"):
    return_immediately: bool = False


class SendParams(Struct, frozen=True, kw_only=True):
    message: A2aMessage
    configuration: SendConfiguration = SendConfiguration()


class TaskParams(Struct, frozen=True, kw_only=True):
    id: Annotated[str, Meta(min_length=1, max_length=200)]


async def first_agent_card(call: Call) -> Response:
    name = next(iter(call.hub.agents))
    return answer(card_of(call, name, call.hub.agent(name)))


async def agent_card(call: Call) -> Response:
    name = call.path("agent")
    return answer(card_of(call, name, call.hub.agent(name)))


def card_of(call: Call, name: str, agent: Agent[Any, Any]) -> CardBody:
    url = f"{str(call.request.base_url).rstrip('/')}/a2a/{name}"
    needs_token = not call.context.authenticator.open
    description = agent.description or f"The agent {name}."
    return CardBody(
        name=name,
        description=description,
        version=__version__,
        supportedInterfaces=[{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": PROTOCOL}],
        capabilities={"streaming": True, "pushNotifications": False},
        defaultInputModes=_MODES,
        defaultOutputModes=["text/plain"],
        skills=[{"id": name, "name": name, "description": description, "tags": ["agent"]}],
        securitySchemes={"token": {"httpAuthSecurityScheme": {"scheme": "bearer"}}} if needs_token else {},
        securityRequirements=[{"schemes": {"token": {"list": []}}}] if needs_token else [],
    )


async def a2a(call: Call) -> Response:
    request: RpcRequest = call.body
    call.hub.agent(call.path("agent"))
    handler = _METHODS.get(request.method)
    if handler is None:
        text = f"there is no method {request.method[:60]!r}; expected one of: {', '.join(_METHODS)}"
        return answer(_failed(request.id, -32601, text))
    try:
        result = await handler(call, request)
    except ApiError as error:
        if error.status not in _CODES:
            raise
        return answer(_failed(request.id, _CODES[error.status], error.message))
    return result if isinstance(result, Response) else answer(RpcAnswer(request.id, "2.0", result=result))


def _failed(request_id: str | int | None, code: int, message: str) -> RpcAnswer:
    return RpcAnswer(request_id, "2.0", error={"code": code, "message": message})


def _params(request: RpcRequest, kind: type[Any]) -> Any:
    try:
        return msgspec.convert(request.params, kind)
    except msgspec.ValidationError as error:
        raise bad_request(f"invalid params: {error}") from None


async def _send(call: Call, request: RpcRequest) -> dict[str, Any]:
    given: SendParams = _params(request, SendParams)
    exchange = await _begin(call, given.message)
    if not given.configuration.return_immediately and exchange.run is not None:
        await exchange.settled()
    return {"task": await _task(exchange)}


async def _stream(call: Call, request: RpcRequest) -> Response:
    given: SendParams = _params(request, SendParams)
    exchange = await _begin(call, given.message)
    return exchange.stream(_chunks(exchange, request.id))


async def _get(call: Call, request: RpcRequest) -> dict[str, Any]:
    return await _task(await _known(call, _params(request, TaskParams).id))


async def _subscribe(call: Call, request: RpcRequest) -> Response:
    exchange = await _known(call, _params(request, TaskParams).id)
    return exchange.stream(_chunks(exchange, request.id))


async def _cancel(call: Call, request: RpcRequest) -> dict[str, Any]:
    exchange = await _known(call, _params(request, TaskParams).id)
    if (await exchange.state()).finished is not None:
        raise conflict("the task has ended already")
    await call.hub.cancel(exchange.run_id)
    await exchange.settled()
    return await _task(await _known(call, exchange.run_id))


_METHODS: dict[str, Any] = {
    "SendMessage": _send,
    "SendStreamingMessage": _stream,
    "GetTask": _get,
    "SubscribeToTask": _subscribe,
    "CancelTask": _cancel,
}


async def _known(call: Call, run_id: str) -> Exchange:
    await call.hub.owned(run_id, call.principal.user)
    return Exchange(call, run_id, call.hub.runs.get(run_id), cancels=False)


async def _begin(call: Call, message: A2aMessage) -> Exchange:
    if message.task_id:
        return await _told(call, message)
    asked = Asked(agent=call.path("agent"), content=_content(message), conversation=message.context_id)
    exchange = await begin(call, asked)
    exchange.cancels = False
    return exchange


async def _told(call: Call, message: A2aMessage) -> Exchange:
    """A message to a task: the result that it waits for, or something to hear while it works."""
    exchange = await _known(call, message.task_id)
    state = await exchange.state()
    if state.finished is not None:
        raise bad_request("the task has ended: send the message without its id, in the same context")
    content = _content(message)
    waiting = [one.id for one in waiting_calls(fold(await call.hub.records(exchange.run_id))) if one.external]
    if len(waiting) == 1:
        await call.hub.leave_results(exchange.run_id, {waiting[0]: content}, call.principal.user)
        exchange.run = await call.hub.resume(exchange.run_id, call.principal.key)
    elif isinstance(content, str):
        await call.hub.send(exchange.run_id, content)
    else:
        raise bad_request("a task in progress takes text only")
    return exchange


def _content(message: A2aMessage) -> Any:
    parts: list[dict[str, Any]] = []
    for part in message.parts:
        if part.text is not None:
            parts.append({"type": "text", "text": part.text})
        elif part.raw is not None or part.url is not None:
            mime = part.media_type or "application/octet-stream"
            parts.append(media(mime, data=part.raw, url=part.url, name=part.filename))
        else:
            parts.append({"type": "text", "text": msgspec.json.encode(part.data).decode()})
    return content_of_parts(parts)


# ---- a run as a task


async def _task(exchange: Exchange) -> dict[str, Any]:
    state = await exchange.state()
    whose = await _whose(exchange)
    task: dict[str, Any] = {"id": whose["taskId"], "contextId": whose["contextId"], "status": _status(exchange, state)}
    if state.finished is not None and state.finished.answer:
        task["artifacts"] = [_artifact(exchange, state.finished.answer)]
    return task


async def _whose(exchange: Exchange) -> dict[str, str]:
    facts = await exchange.call.hub.facts(exchange.run_id)
    return {"taskId": exchange.run_id, "contextId": facts.conversation or exchange.run_id}


def _status(exchange: Exchange, state: RunState) -> dict[str, Any]:
    told = ""
    if state.finished is not None:
        name = "COMPLETED" if state.finished.success else "FAILED"
        name = "CANCELED" if state.finished.stop_reason == "cancelled" else name
        told = without_addresses(state.finished.error)
    elif state.paused is not None:
        name, told = "INPUT_REQUIRED", _wanted(state)
    else:
        name = "WORKING"
    when = datetime.fromtimestamp(state.updated, UTC).isoformat().replace("+00:00", "Z")
    status: dict[str, Any] = {"state": f"TASK_STATE_{name}", "timestamp": when}
    if told:
        said = {"messageId": f"{exchange.run_id}-{state.seq}", "role": "ROLE_AGENT", "parts": [{"text": told}]}
        status["message"] = {**said, "taskId": exchange.run_id}
    return status


def _wanted(state: RunState) -> str:
    assert state.paused is not None
    calls = [f"{one.name}({msgspec.json.encode(one.args).decode()})" for one in waiting_calls(state)]
    return f"{state.paused.reason}: {'; '.join(calls)}" if calls else state.paused.reason


def _artifact(exchange: Exchange, text: str) -> dict[str, Any]:
    return {"artifactId": f"{exchange.run_id}-answer", "name": "answer", "parts": [{"text": text}]}


async def _chunks(exchange: Exchange, request_id: str | int | None) -> AsyncGenerator[bytes, None]:
    def result(value: Mapping[str, Any]) -> bytes:
        return data(RpcAnswer(request_id, "2.0", result=dict(value)))

    try:
        yield result({"task": await _task(exchange)})
        whose, begun = await _whose(exchange), False
        async for event in exchange.events():
            if isinstance(event, Silence):
                yield HEARTBEAT
            elif isinstance(event, Words):
                update = {**whose, "artifact": _artifact(exchange, event.text), "append": begun, "lastChunk": False}
                yield result({"artifactUpdate": update})
                begun = True
        await exchange.settled()
        yield result({"statusUpdate": {**whose, "status": _status(exchange, await exchange.state())}})
    except ApiError as error:
        yield data(_failed(request_id, _CODES.get(error.status, -32603), error.message))
    finally:
        exchange.leave()


OPERATIONS = (
    Operation(
        method="GET",
        path="/.well-known/agent-card.json",
        handler=first_agent_card,
        tag="a2a",
        summary="The A2A card of the server's first agent.",
        answers={200: CardBody},
    ),
    Operation(
        method="GET",
        path="/a2a/{agent}/.well-known/agent-card.json",
        handler=agent_card,
        tag="a2a",
        errors=(404,),
        summary="The A2A card of an agent.",
        answers={200: CardBody},
    ),
    Operation(
        method="POST",
        path="/a2a/{agent}",
        handler=a2a,
        tag="a2a",
        body=RpcRequest,
        errors=(404, 409),
        summary="A2A: send a message to an agent, follow, read or cancel its task.",
        answers={200: (RpcAnswer, "text/event-stream")},
    ),
)
