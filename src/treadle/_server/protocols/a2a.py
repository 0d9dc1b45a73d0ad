"""The agents for other agents, by A2A 1.0 (JSON-RPC over HTTP): a card for each, tasks that are runs, streaming.

A task is a run and outlives its connection: it can be asked for, subscribed to again, or cancelled by its id. A run
that waits is `INPUT_REQUIRED`; a message to its task is the result of the one external call it waits for, or else a
message to the run.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from treadle._engine.core.decisions import waiting_calls
from treadle._server.api.operations import Call, Routes, answer
from treadle._server.errors import ApiError, bad_request, from_engine, token_needed
from treadle._server.live.push import PushConfig
from treadle._server.live.repeats import digest
from treadle._server.protocols.a2a_rpc import (
    CODES,
    NO_EXTENDED_CARD,
    NO_VERSION,
    NOT_CANCELABLE,
    RpcAnswer,
    RpcError,
    RpcRequest,
    failed,
    params,
    rpc_refusal,
)
from treadle._server.protocols.a2a_tasks import ListParams, stream, task_of, tasks_page
from treadle._server.protocols.exchange import AgentRequest, Exchange
from treadle._server.protocols.run_lookup import begin, resumed
from treadle._server.protocols.untyped_json import content_of_parts, media
from treadle._types.errors import ConfigError, RunNotFoundError
from treadle._types.events import Injected
from treadle._types.ids import fresh_id
from treadle._types.state import fold
from treadle._version import __version__

routes = Routes("a2a")

PROTOCOL = "1.0"
_MODES = ["text/plain", "application/json", "image/png", "image/jpeg", "application/pdf"]


class CardBody(Struct, frozen=True):
    """The description of an agent for other agents."""

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
    data: Any = msgspec.UNSET
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
    task_push_notification_config: PushConfig | None = None


class SendParams(Struct, frozen=True, kw_only=True):
    message: A2aMessage
    configuration: SendConfiguration = SendConfiguration()


class TaskParams(Struct, frozen=True, kw_only=True):
    id: Annotated[str, Meta(min_length=1, max_length=200)]


class PushParams(Struct, frozen=True, kw_only=True, rename="camel"):
    task_id: Annotated[str, Meta(min_length=1, max_length=200)]
    id: Annotated[str, Meta(max_length=64)] = ""


@routes("GET", "/.well-known/agent-card.json", CardBody, open=True)
async def first_agent_card(call: Call) -> Response:
    """Return the A2A card of the server's first agent."""
    return _card(call, next(iter(call.hub.agents)))


@routes("GET", "/a2a/{agent}/.well-known/agent-card.json", CardBody, errors=(404,), open=True)
async def agent_card(call: Call) -> Response:
    """Return the A2A card of an agent."""
    return _card(call, call.path("agent"))


def _card(call: Call, name: str) -> Response:
    # Cards say how to log in, so they can be read without a token unless the operator forbids it.
    needs_token = not call.context.authenticator.open
    if needs_token and not call.context.settings.open_cards and not call.principal.user:
        raise token_needed()
    url = f"{str(call.request.base_url).rstrip('/')}/a2a/{name}"
    description = call.hub.agent(name).description or f"The agent {name}."
    card = CardBody(
        name=name,
        description=description,
        version=__version__,
        supportedInterfaces=[{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": PROTOCOL}],
        capabilities={"streaming": True, "pushNotifications": True},
        defaultInputModes=_MODES,
        defaultOutputModes=["text/plain"],
        skills=[{"id": name, "name": name, "description": description, "tags": ["agent"]}],
        securitySchemes={"token": {"httpAuthSecurityScheme": {"scheme": "bearer"}}} if needs_token else {},
        securityRequirements=[{"schemes": {"token": {"list": []}}}] if needs_token else [],
    )
    return answer(card)


@routes(
    "POST",
    "/a2a/{agent}",
    (RpcAnswer, "text/event-stream"),
    body=RpcRequest,
    errors=(404, 409),
    refusal=rpc_refusal,
    refused=RpcAnswer,
)
async def a2a(call: Call) -> Response:
    """A2A: send a message to an agent, follow, read or cancel its task."""
    request: RpcRequest = call.body
    agent = call.path("agent")
    call.hub.agent(agent)
    try:
        _check_version(call, request.method)
        handler = _METHODS.get(request.method)
        if handler is None:
            raise RpcError(*_unknown(request.method))
        result = await handler(call, request)
    except RpcError as error:
        return answer(failed(request.id, error.code, error.message))
    except (ApiError, RunNotFoundError, ConfigError) as error:
        problem = error if isinstance(error, ApiError) else from_engine(error)
        if problem.status not in CODES:
            raise
        return answer(failed(request.id, CODES[problem.status], problem.message))
    return result if isinstance(result, Response) else answer(RpcAnswer(request.id, "2.0", result=result))


def _check_version(call: Call, method: str) -> None:
    """Refuse versions before 1.0, which have other methods and other messages. A client that names no version and
    calls a method of 1.0 speaks 1.0."""
    version = call.request.headers.get("a2a-version", "").strip()
    if (version and version.split(".")[:2] != PROTOCOL.split(".")) or method in _METHODS_0_3:
        problem = f"A2A {version or '0.3'} is not spoken here, only {PROTOCOL}: use a client of A2A {PROTOCOL}"
        raise RpcError(NO_VERSION, f"{problem} (its methods: {', '.join(_METHODS)})")


def _unknown(method: str) -> tuple[int, str]:
    if method == "GetExtendedAgentCard":
        return NO_EXTENDED_CARD, "there is no other card than the public one"
    return -32601, f"there is no method {method[:60]!r}; expected one of: {', '.join(_METHODS)}"


async def _send(call: Call, request: RpcRequest) -> Response:
    send: SendParams = params(request, SendParams)
    exchange = await _begin(call, send)
    if not send.configuration.return_immediately and exchange.run is not None:
        await exchange.settled()
    return exchange.answer(RpcAnswer(request.id, "2.0", result={"task": await task_of(exchange)}))


async def _stream(call: Call, request: RpcRequest) -> Response:
    exchange = await _begin(call, params(request, SendParams))
    return stream(exchange, request.id)


async def _get(call: Call, request: RpcRequest) -> dict[str, Any]:
    return await task_of(await _existing_task(call, params(request, TaskParams).id))


async def _list(call: Call, request: RpcRequest) -> dict[str, Any]:
    return await tasks_page(call, call.path("agent"), params(request, ListParams))


async def _subscribe(call: Call, request: RpcRequest) -> Response:
    exchange = await _existing_task(call, params(request, TaskParams).id)
    return stream(exchange, request.id)


async def _cancel(call: Call, request: RpcRequest) -> dict[str, Any]:
    exchange = await _existing_task(call, params(request, TaskParams).id)
    if (await exchange.state()).finished is not None:
        raise RpcError(NOT_CANCELABLE, "the task has ended already")
    try:
        await call.hub.cancel(exchange.run_id)
    except ApiError as error:  # it has ended just now
        raise RpcError(NOT_CANCELABLE, error.message) from None
    await exchange.settled()
    return await task_of(await _existing_task(call, exchange.run_id))


async def _create_push(call: Call, request: RpcRequest) -> dict[str, Any]:
    config: PushConfig = params(request, PushConfig)
    return msgspec.to_builtins(await call.context.push.add(await call.runs.owned(config.task_id), config))


async def _get_push(call: Call, request: RpcRequest) -> dict[str, Any]:
    wanted: PushParams = params(request, PushParams)
    return msgspec.to_builtins(await call.context.push.config(await call.runs.owned(wanted.task_id), wanted.id))


async def _list_push(call: Call, request: RpcRequest) -> dict[str, Any]:
    run = await call.runs.owned(params(request, PushParams).task_id)
    return {"configs": msgspec.to_builtins(await call.context.push.configs(run)), "nextPageToken": ""}


async def _delete_push(call: Call, request: RpcRequest) -> dict[str, Any]:
    wanted: PushParams = params(request, PushParams)
    await call.context.push.remove(await call.runs.owned(wanted.task_id), wanted.id)
    return {}


_METHODS: dict[str, Any] = {
    "SendMessage": _send,
    "SendStreamingMessage": _stream,
    "GetTask": _get,
    "ListTasks": _list,
    "SubscribeToTask": _subscribe,
    "CancelTask": _cancel,
    "CreateTaskPushNotificationConfig": _create_push,
    "GetTaskPushNotificationConfig": _get_push,
    "ListTaskPushNotificationConfigs": _list_push,
    "DeleteTaskPushNotificationConfig": _delete_push,
}
_METHODS_0_3 = (
    "message/send",
    "message/stream",
    "tasks/get",
    "tasks/list",
    "tasks/cancel",
    "tasks/resubscribe",
    "tasks/send",
    "tasks/sendSubscribe",
    "agent/getAuthenticatedExtendedCard",
)


async def _existing_task(call: Call, run_id: str) -> Exchange:
    run = await call.runs.owned(run_id)
    return Exchange(call, run, await call.hub.driven(run), cancels=False)


async def _begin(call: Call, send: SendParams) -> Exchange:
    config = send.configuration.task_push_notification_config
    if config is not None:
        call.context.push.check(config)
    exchange = await (_message_to_task if send.message.task_id else _new_task)(call, send.message)
    if config is not None:
        await call.context.push.add(exchange.run_id, config)
    return exchange


async def _new_task(call: Call, message: A2aMessage) -> Exchange:
    request = AgentRequest(
        agent=call.path("agent"),
        content=_content(message),
        conversation=message.context_id,
        request=message,
        message_id=message.message_id,
    )
    exchange = await begin(call, request)
    exchange.cancels = False
    return exchange


async def _message_to_task(call: Call, message: A2aMessage) -> Exchange:
    """Pass a message to a task: as the result that it waits for, or as a message to the run. One that is sent again has
    the same target as the first time."""
    exchange = await _existing_task(call, message.task_id)
    run_id, repeats, content = exchange.run_id, call.context.repeats, _content(message)
    records = await call.hub.records(run_id)
    state = fold(records)
    waiting = [one.id for one in waiting_calls(state) if one.external]
    name = digest(run_id, message.message_id or fresh_id(), msgspec.json.encode(message))
    target = await repeats.heard(name)
    if target is None:
        if state.finished is not None:
            raise RpcError(CODES[409], "the task has ended: send the message without its id, in the same context")
        target = waiting[0] if len(waiting) == 1 else ""
        if not target and not isinstance(content, str):
            raise bad_request("a task in progress takes text only")
        await repeats.hear(name, run_id, target)
    if target in waiting:
        await call.hub.leave_results(run_id, {target: content}, call.principal.user)
    elif not target and not any(isinstance(one.event, Injected) and name in one.event.ids for one in records):
        await call.hub.send(run_id, content, item_id=name)
    if target in waiting or (state.finished is None and state.paused is None):
        exchange.run = await resumed(call, run_id)
    return exchange


def _content(message: A2aMessage) -> Any:
    parts: list[dict[str, Any]] = []
    for part in message.parts:
        if part.text is not None:
            parts.append({"type": "text", "text": part.text})
        elif part.raw is not None or part.url is not None:
            mime = part.media_type or "application/octet-stream"
            parts.append(media(mime, data=part.raw, url=part.url, name=part.filename))
        elif part.data is not msgspec.UNSET:
            parts.append({"type": "text", "text": msgspec.json.encode(part.data).decode()})
        else:
            raise bad_request("a part of the message is empty: give it `text`, `raw`, `url` or `data`")
    return content_of_parts(parts)
