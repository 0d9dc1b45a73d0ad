"""An agent elsewhere as a tool, by A2A 1.0 (JSON-RPC over HTTP)."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Annotated, Any
from urllib.parse import urlsplit

from msgspec import Meta

from treadle._models.transport.wire import as_dict, as_list, as_text
from treadle._safety.bounds import Seconds, bounded
from treadle._tools.base import Tool
from treadle._tools.builtin.common import check_status, client_for, clip, required_setting
from treadle._tools.builtin.http.client import GuardedClient
from treadle._tools.function import tool
from treadle._types.errors import ToolError
from treadle._types.ids import fresh_id

_CARD = "/.well-known/agent-card.json"
_VERSION = {"A2A-Version": "1.0"}
_WORKING = ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
_ASKS = ("TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED")
_FIRST_WAIT, _LONGEST_WAIT, _CANCEL_SECONDS = 0.1, 3.0, 5.0
_Message = Annotated[str, Meta(min_length=1, max_length=100_000, description="What the agent is asked to do")]
_Task = Annotated[str, Meta(max_length=200, description="To answer a question of the agent: the id of its task")]


@bounded
def a2a(
    url: str,
    *,
    name: str = "ask_agent",
    description: str = "Ask an agent elsewhere to do a part of the work. It knows only what the message says.",
    auth: str = "",
    timeout: Seconds = 600.0,
    client: GuardedClient | None = None,
) -> Tool:
    """`url`: where the agent's card is, or the card itself. `auth`: the environment variable with the token. What the
    agent says of itself is not shown to the model: `description` is. A run that is stopped cancels the task there."""
    base = url.removesuffix(_CARD).rstrip("/")
    web = client_for(client, base, 30.0)
    host = urlsplit(base).hostname or "agent"
    address: list[str] = []

    async def rpc(method: str, params: dict[str, Any]) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": fresh_id(), "method": method, "params": params}
        response = await web.request("POST", address[0], headers=_headers(auth, host), json=body)
        answer: dict[str, Any] = {} if response.status >= 500 else response.json(dict[str, Any])
        if error := as_dict(answer.get("error")):
            raise ToolError(f"{host} refused: {clip(as_text(error.get('message')), 500)}")
        check_status(response, host, auth)
        return as_dict(answer.get("result"))

    async def settled(task: dict[str, Any]) -> dict[str, Any]:
        """The task when the agent does not work on it any more."""
        wait = _FIRST_WAIT
        while as_text(as_dict(task.get("status")).get("state")) in _WORKING:
            await asyncio.sleep(wait)
            wait = min(wait * 1.5, _LONGEST_WAIT)
            task = await rpc("GetTask", {"id": task.get("id")})
        return task

    @tool(name=name, description=description, timeout=timeout, untrusted=host)
    async def ask_agent(message: _Message, task: _Task = "") -> str:
        if not address:
            address.append(await _address(web, base, auth, host))
        sent: dict[str, Any] = {"messageId": fresh_id(), "role": "ROLE_USER", "parts": [{"text": message}]}
        sent |= {"taskId": task} if task else {}
        params = {"message": sent, "configuration": {"returnImmediately": True}}
        sending = asyncio.ensure_future(rpc("SendMessage", params))
        try:
            result = await asyncio.shield(sending)
            if reply := as_dict(result.get("message")):
                return _text(reply)
            return _outcome(await settled(as_dict(result.get("task"))), host)
        except asyncio.CancelledError:  # the task there would go on, also one whose id has not arrived yet
            with contextlib.suppress(ToolError, TimeoutError):
                async with asyncio.timeout(_CANCEL_SECONDS):
                    await rpc("CancelTask", {"id": as_dict((await sending).get("task")).get("id")})
            raise

    return ask_agent


async def _address(web: GuardedClient, base: str, auth: str, host: str) -> str:
    """Where the agent is asked. It must be where its card is: a card does not choose who gets the token."""
    response = await web.get(base + _CARD, headers=_headers(auth, host))
    check_status(response, host, auth)
    card = response.json(dict[str, Any])
    for interface in map(as_dict, as_list(card.get("supportedInterfaces"))):
        version, url = as_text(interface.get("protocolVersion")), as_text(interface.get("url"))
        if interface.get("protocolBinding") == "JSONRPC" and version.split(".")[0] == "1":
            if urlsplit(url)[:2] != urlsplit(base)[:2]:
                raise ToolError(f"refused: the card of {host} names another server, {urlsplit(url).netloc[:100]!r}")
            return url
    raise ToolError(f"{host} does not speak A2A 1.0 over JSON-RPC")


def _headers(auth: str, host: str) -> dict[str, str]:
    if not auth:
        return dict(_VERSION)
    return {**_VERSION, "Authorization": f"Bearer {required_setting(None, auth, host, 'whoever runs the agent')}"}


def _outcome(task: dict[str, Any], host: str) -> str:
    status = as_dict(task.get("status"))
    state, text = as_text(status.get("state")), _text(as_dict(status.get("message")))
    if state in _ASKS:
        return f"The agent asks: {text}\n(Answer it with task={as_text(task.get('id'))!r}.)"
    if state != "TASK_STATE_COMPLETED":
        ended = state.removeprefix("TASK_STATE_").lower() or "ended in an unknown state"
        raise ToolError(f"the task at {host} was not done ({ended}): {clip(text, 1000)}".rstrip(": "))
    artifacts = [_text(as_dict(artifact)) for artifact in as_list(task.get("artifacts"))]
    return "\n\n".join(part for part in artifacts if part) or text


def _text(message: dict[str, Any]) -> str:
    """The texts of a message or artifact, and data as JSON."""
    import msgspec

    texts: list[str] = []
    for part in map(as_dict, as_list(message.get("parts"))):
        if text := as_text(part.get("text")):
            texts.append(text)
        elif "data" in part:
            texts.append(msgspec.json.encode(part["data"]).decode())
        elif part.get("url") or part.get("raw"):
            texts.append(f"[file {as_text(part.get('filename')) or as_text(part.get('url'))}]")
    return "\n".join(texts)
