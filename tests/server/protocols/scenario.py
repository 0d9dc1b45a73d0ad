"""One scenario for every protocol: the agent uses a tool of its own, then one of its client, then answers."""

from __future__ import annotations

import json
from typing import Any

from kit import add, call
from server.serving import Client
from treadle import Agent, ScriptedModel
from treadle._types.messages import ToolMessage
from treadle._types.request import Request

PARAMETERS = {"type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]}


def looker(**options: Any) -> Agent:
    """Adds first, then asks its client to look, then says what it was told."""

    def reply(request: Request) -> Any:
        if all(tool.name != "look" for tool in request.tools):
            return "It is 5." if any(isinstance(m, ToolMessage) for m in request.messages) else call("add", a=2, b=3)
        asked = max(i for i, m in enumerate(request.messages) if getattr(m, "kind", "") == "question")
        results = [message for message in request.messages[asked:] if isinstance(message, ToolMessage)]
        if not results:
            return call("add", a=2, b=3)
        return call("look", where="left") if len(results) == 1 else f"I see {results[-1].content}."

    return Agent(ScriptedModel(reply, chunk=4), tools=[add], **options)


def streamed(client: Client, path: str, body: Any, **headers: str) -> list[dict[str, Any]]:
    """The payloads of a stream; comments and the end mark are left out."""
    answer = client.ask("POST", path, body, **headers)
    assert answer.status == 200, answer.data
    assert answer.headers["content-type"].startswith("text/event-stream"), answer.data
    lines = [line.removeprefix("data: ") for line in answer.data.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]
