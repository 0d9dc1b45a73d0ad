"""A2A 1.0 over JSON-RPC; the official SDK is in test_client_libraries.py."""

from __future__ import annotations

from typing import Any

import pytest

from server.protocols.scenario import PARAMETERS, looker, streamed
from server.serving import ANN, BOB, TOKENS, Gate, serving
from treadle import Agent, ScriptedModel, external_tool, tool
from treadle._types.errors import RequestRefusedError
from treadle._types.messages import ImagePart, UserMessage


def rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def message(text: str = "2+3?", **more: Any) -> dict[str, Any]:
    return {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": text}], **more}


@pytest.fixture(scope="module")
def client() -> Any:
    failing = Agent(ScriptedModel([RequestRefusedError("HTTP 401: wrong key", status=401)], repeat_last=True), None)
    look = external_tool("look", "Looks.", PARAMETERS)
    script = [{"name": "look", "args": {"where": "left"}}, "A cat."]
    agents = {"adder": looker(), "failing": failing, "looker": Agent(ScriptedModel(script), [look])}
    with serving(agents, tokens=TOKENS) as server:
        yield server.as_user(ANN)


def test_the_card(client: Any):
    for path in ("/.well-known/agent-card.json", "/a2a/adder/.well-known/agent-card.json"):
        card = client.get(path)
        assert card["name"] == "adder"
        assert card["supportedInterfaces"] == [
            {"url": f"{client.address}/a2a/adder", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ]
        assert card["capabilities"]["streaming"]
        assert card["securityRequirements"]
    assert client.ask("GET", "/a2a/nobody/.well-known/agent-card.json").status == 404
    assert client.as_user("").ask("GET", "/.well-known/agent-card.json").status == 401


def test_a_message_becomes_a_task_with_an_answer(client: Any):
    task = client.post("/a2a/adder", rpc("SendMessage", message=message()))["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert task["artifacts"][0]["parts"] == [{"text": "It is 5."}]
    again = client.post("/a2a/adder", rpc("GetTask", id=task["id"]))["result"]
    assert (again["id"], again["contextId"], again["artifacts"]) == (task["id"], task["contextId"], task["artifacts"])
    second = client.post("/a2a/adder", rpc("SendMessage", message=message(contextId=task["contextId"])))["result"][
        "task"
    ]
    assert second["contextId"] == task["contextId"]
    assert len(client.get(f"/api/conversations/{task['contextId']}")["runs"]) == 2
    stranger = client.as_user(BOB).post("/a2a/adder", rpc("GetTask", id=task["id"]))
    assert stranger["error"]["code"] == -32001


def test_streaming(client: Any):
    results = [one["result"] for one in streamed(client, "/a2a/adder", rpc("SendStreamingMessage", message=message()))]
    assert results[0]["task"]["status"]["state"] in ("TASK_STATE_WORKING", "TASK_STATE_COMPLETED")
    updates = [one["artifactUpdate"] for one in results if "artifactUpdate" in one]
    assert "".join(update["artifact"]["parts"][0]["text"] for update in updates) == "It is 5."
    assert [update["append"] for update in updates] == [False, *[True] * (len(updates) - 1)]
    assert results[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    task = results[0]["task"]["id"]
    again = [one["result"] for one in streamed(client, "/a2a/adder", rpc("SubscribeToTask", id=task))]
    text = "".join(one["artifactUpdate"]["artifact"]["parts"][0]["text"] for one in again if "artifactUpdate" in one)
    assert (text, "statusUpdate" in again[-1]) == ("It is 5.", True)


def test_a_task_that_waits_is_answered_by_a_message(client: Any):
    task = client.post("/a2a/looker", rpc("SendMessage", message=message("?")))["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert 'look({"where":"left"})' in task["status"]["message"]["parts"][0]["text"]
    done = client.post("/a2a/looker", rpc("SendMessage", message=message("a cat", taskId=task["id"])))["result"]["task"]
    assert (done["id"], done["artifacts"][0]["parts"]) == (task["id"], [{"text": "A cat."}])


def test_a_task_outlives_its_connection_and_is_cancelled_by_its_id():
    gate = Gate()

    @tool
    async def slow() -> str:
        """Waits."""
        await gate.wait()
        return "done"

    with serving({"slow": Agent(ScriptedModel([{"name": "slow", "args": {}}, "x"]), [slow])}) as server:
        body = rpc("SendMessage", message=message("?"), configuration={"returnImmediately": True})
        task = server.post("/a2a/slow", body)["result"]["task"]
        assert task["status"]["state"] == "TASK_STATE_WORKING"
        gate.wait_reached()
        cancelled = server.post("/a2a/slow", rpc("CancelTask", id=task["id"]))["result"]
        assert cancelled["status"]["state"] == "TASK_STATE_CANCELED"
        refused = server.post("/a2a/slow", rpc("CancelTask", id=task["id"]))
        assert refused["error"]["code"] == -32002


def test_errors(client: Any):
    task = client.post("/a2a/failing", rpc("SendMessage", message=message()))["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    assert "wrong key" in task["status"]["message"]["parts"][0]["text"]
    assert client.post("/a2a/adder", rpc("NoSuch"))["error"]["code"] == -32601
    assert client.post("/a2a/adder", rpc("SendMessage", message={}))["error"]["code"] == -32602
    assert client.post("/a2a/adder", rpc("GetTask", id="nobody"))["error"]["code"] == -32001
    assert client.ask("POST", "/a2a/nobody", rpc("GetTask", id="x")).status == 404


def test_an_image():
    model = ScriptedModel(["A dot."], abilities={"vision": True})
    parts = [{"text": "What is it?"}, {"raw": "iVBORw0KGgo=", "mediaType": "image/png", "filename": "dot.png"}]
    with serving({"a": Agent(model, None)}) as server:
        server.post("/a2a/a", rpc("SendMessage", message={"messageId": "m", "role": "ROLE_USER", "parts": parts}))
    [asked] = [one for one in model.requests[0].messages if isinstance(one, UserMessage)]
    assert any(isinstance(part, ImagePart) for part in asked.content)
