"""Requests that bring results, repeated: the run goes on without the client that lost its response."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kit import call
from server.serving import Client, Gate, serving
from treadle import Agent, ScriptedModel, tool
from treadle._types.messages import ToolMessage
from treadle._types.request import Request
from waiting import GUARD_SECONDS, eventually

PATH = "/v1/chat/completions"
QUESTION = {"role": "user", "content": "?"}
LOOK: Any = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


class Worker:
    """An agent that asks its client to look, then works until its gate opens, then answers."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.worked = 0

        @tool(effect="pure")
        async def work() -> str:
            """Works."""
            self.worked += 1
            await self.gate.wait()
            return "done"

        def reply(request: Request) -> Any:
            results = [message for message in request.messages if isinstance(message, ToolMessage)]
            return "It is done." if len(results) > 1 else call("work") if results else call("look")

        self.agent = Agent(ScriptedModel(reply), tools=[work])


def with_results(client: Client) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first answer, and the request that brings the results of its calls."""
    first = client.post(PATH, {"model": "demo", "messages": [QUESTION], "tools": [LOOK]})
    message = first["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "seen"}
    return first, {"model": "demo", "messages": [QUESTION, message, result], "tools": [LOOK]}


@pytest.mark.parametrize("stream", [False, True])
def test_a_response_lost_while_the_run_works_is_had_by_the_same_request_again(stream: bool):
    worker = Worker()
    with serving(worker.agent) as client:
        _, body = with_results(client)
        connection = client.posting(PATH, {**body, "stream": stream})
        worker.gate.wait_reached()
        answers: list[dict[str, Any]] = []
        second = threading.Thread(target=lambda: answers.append(client.post(PATH, body)), daemon=True)
        second.start()  # joins the run while the first is there, or after it has gone: both must be well
        assert connection.sock is not None
        connection.sock.close()
        connection.close()
        gone = "treadle_streams_live 0" if stream else 'operation="chat",status="503"} 1'
        eventually(lambda: gone in client.ask("GET", "/metrics").data.decode(), "the server has seen it go")
        worker.gate.open()
        second.join(GUARD_SECONDS)
        answers.append(client.post(PATH, body))
        assert [one["choices"][0]["message"]["content"] for one in answers] == ["It is done."] * 2
        assert worker.worked == 1
        assert len(client.get("/api/runs")["runs"]) == 1


def test_usage_is_told_once():
    worker = Worker()
    worker.gate.open()
    with serving(worker.agent) as client:
        first, body = with_results(client)
        second = client.post(PATH, body)
        run = client.get(f"/api/runs/{first['id'].removeprefix('chatcmpl-')}")
        told = [one["usage"]["prompt_tokens"] for one in (first, second)]
        assert sum(told) == run["usage"]["input_tokens"]
        assert client.post(PATH, body)["usage"] == second["usage"]
