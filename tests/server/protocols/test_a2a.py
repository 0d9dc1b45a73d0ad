"""A2A 1.0 over JSON-RPC; the official SDK is in test_client_libraries.py."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.protocols.scenario import PARAMETERS, looker, streamed
from server.serving import ANN, BOB, TOKENS, Gate, PacedModel, held, relaxed, serving
from treadle import Agent, ScriptedModel, external_tool
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


def test_cards_are_open_unless_the_operator_says_otherwise():
    """They say how to log in, so who is not logged in may read them."""
    paths = ("/.well-known/agent-card.json", "/a2a/a/.well-known/agent-card.json")
    agents = {"a": Agent(ScriptedModel(["x"]), None, description="Knows the harbour.")}
    with serving(agents, tokens=TOKENS) as server:
        for path in paths:
            card = server.get(path)
            assert card["securitySchemes"] == {"token": {"httpAuthSecurityScheme": {"scheme": "bearer"}}}
        assert server.ask("POST", "/a2a/a", rpc("ListTasks")).status == 401, "only the cards"
    with serving(agents, tokens=TOKENS, settings=relaxed(open_cards=False)) as server:
        assert [server.ask("GET", path).status for path in paths] == [401, 401]
        assert [server.as_user(ANN).ask("GET", path).status for path in paths] == [200, 200]


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
    gate, slow = held()
    with serving({"slow": Agent(ScriptedModel([{"name": "slow", "args": {}}, "x"]), [slow])}) as server:
        body = rpc("SendMessage", message=message("?"), configuration={"returnImmediately": True})
        task = server.post("/a2a/slow", body)["result"]["task"]
        assert task["status"]["state"] == "TASK_STATE_WORKING"
        gate.wait_reached()
        cancelled = server.post("/a2a/slow", rpc("CancelTask", id=task["id"]))["result"]
        assert cancelled["status"]["state"] == "TASK_STATE_CANCELED"
        refused = server.post("/a2a/slow", rpc("CancelTask", id=task["id"]))
        assert refused["error"]["code"] == -32002


def test_a_streamed_task_that_is_cancelled_ends_as_cancelled_with_the_words_it_had():
    model = PacedModel(["It is five."], chunk=4)
    model.gates[1] = Gate()
    with serving({"slow": Agent(model, None)}) as server:
        connection = server.posting("/a2a/slow", rpc("SendStreamingMessage", message=message()))
        response = connection.getresponse()
        lines: list[bytes] = []
        while not (lines and b"It i" in lines[-1]):
            lines.append(response.readline())
        task = next(json.loads(line[6:])["result"]["task"]["id"] for line in lines if b'"task"' in line)
        server.post("/a2a/slow", rpc("CancelTask", id=task))
        rest = [json.loads(line[6:]) for line in response.read().splitlines() if line.startswith(b"data: ")]
        connection.close()
    assert rest[-1]["result"]["statusUpdate"]["status"]["state"] == "TASK_STATE_CANCELED"


def test_errors(client: Any):
    task = client.post("/a2a/failing", rpc("SendMessage", message=message()))["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    assert "wrong key" in task["status"]["message"]["parts"][0]["text"]
    assert client.post("/a2a/adder", rpc("NoSuch"))["error"]["code"] == -32601
    assert client.post("/a2a/adder", rpc("SendMessage", message={}))["error"]["code"] == -32602
    assert client.post("/a2a/adder", rpc("GetTask", id="nobody"))["error"]["code"] == -32001
    missing = client.ask("POST", "/a2a/nobody", rpc("GetTask", id="x"))
    assert (missing.status, missing.json["error"]["code"], missing.json["id"]) == (404, -32603, None)
    assert client.post("/a2a/adder", rpc("GetExtendedAgentCard"))["error"]["code"] == -32007
    ended = client.post("/a2a/adder", rpc("SendMessage", message=message("more", taskId=task["id"])))["error"]
    assert (ended["code"], ended["data"][0]["reason"]) == (-32004, "UNSUPPORTED_OPERATION")


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[]", -32600),
        (b'{"method": 1}', -32600),
        (b'{"jsonrpc": "1.0", "method": "GetTask"}', -32600),
        (b'{"method": "GetTask", "params": {"id": ""}}', -32602),
        (b'{"method": "SendMessage", "params": {"message": {"parts": [{}]}}}', -32602),
        (b'{"method": "ListTasks", "params": {"pageToken": "nonsense"}}', -32602),
        (b'{"method": "ListTasks", "params": {"pageSize": 1000}}', -32602),
    ],
)
def test_whatever_is_wrong_is_an_error_of_json_rpc(client: Any, raw: bytes, code: int):
    answer = client.ask("POST", "/a2a/adder", raw=raw)
    assert (answer.json["jsonrpc"], answer.json["error"]["code"]) == ("2.0", code)
    assert answer.status == (200 if code == -32602 else 400), "an error of a method is an answer, others are HTTP's"
    assert answer.json["error"]["message"]
    no_json = client.ask("POST", "/a2a/adder", raw=b"x", content_type="text/plain")
    assert (no_json.status, no_json.json["error"]["code"]) == (415, -32603)


@pytest.mark.parametrize(
    ("method", "version", "code"),
    [
        ("message/send", "", -32009),
        ("tasks/get", "", -32009),
        ("SendMessage", "0.3", -32009),
        ("SendMessage", "2.0", -32009),
        ("SendMessage", "1.0.2", 0),
        ("SendMessage", "", 0),
    ],
)
def test_other_versions_are_refused(client: Any, method: str, version: str, code: int):
    headers = {"a2a_version": version} if version else {}
    answer = client.ask("POST", "/a2a/adder", rpc(method, message=message()), **headers).json
    assert answer.get("error", {}).get("code", 0) == code
    assert not code or "only 1.0" in answer["error"]["message"]


def test_tasks_are_listed():
    wait = external_tool("look", "Looks.", PARAMETERS)
    failing = RequestRefusedError("HTTP 401: wrong key", status=401)
    script = ["One.", "Two.", {"name": "look", "args": {"where": "left"}}, failing]
    agents = {"a": Agent(ScriptedModel(script), [wait]), "b": Agent(ScriptedModel(["b"], repeat_last=True), None)}
    with serving(agents, tokens=TOKENS) as server:
        ann = server.as_user(ANN)

        def page(**params: Any) -> dict[str, Any]:
            return ann.post("/a2a/a", rpc("ListTasks", **params))["result"]

        made = [
            ann.post("/a2a/a", rpc("SendMessage", message=message(f"{n}", contextId=context)))["result"]["task"]["id"]
            for n, context in enumerate(("c1", "c2", "c3", "c4"))
        ]
        ann.post("/a2a/b", rpc("SendMessage", message=message()))
        everything = page()
        assert [task["id"] for task in everything["tasks"]] == made[::-1], "of this agent, the last first"
        assert (everything["totalSize"], everything["pageSize"], everything["nextPageToken"]) == (4, 50, "")
        assert all("artifacts" not in task for task in everything["tasks"])
        token = ""
        seen: list[str] = []
        for _ in range(3):
            part = page(pageSize=2, pageToken=token)
            seen += [task["id"] for task in part["tasks"]]
            token = part["nextPageToken"]
            if not token:
                break
        assert seen == made[::-1]
        states = {"COMPLETED": made[1::-1], "INPUT_REQUIRED": [made[2]], "FAILED": [made[3]], "WORKING": []}
        for name, expected in states.items():
            listed = (
                page(status=f"TASK_STATE_{name}", pageSize=1) if name == "FAILED" else page(status=f"TASK_STATE_{name}")
            )
            assert ([task["id"] for task in listed["tasks"]], listed["totalSize"]) == (expected, len(expected)), name
        [one] = page(contextId="c2", includeArtifacts=True)["tasks"]
        assert (one["id"], one["artifacts"][0]["parts"]) == (made[1], [{"text": "Two."}])
        assert page(statusTimestampAfter="2100-01-01T00:00:00Z")["tasks"] == []
        assert server.as_user(BOB).post("/a2a/a", rpc("ListTasks"))["result"]["totalSize"] == 0, "of this user"


def test_an_image():
    model = ScriptedModel(["A dot."], abilities={"vision": True})
    parts = [{"text": "What is it?"}, {"raw": "iVBORw0KGgo=", "mediaType": "image/png", "filename": "dot.png"}]
    with serving({"a": Agent(model, None)}) as server:
        server.post("/a2a/a", rpc("SendMessage", message={"messageId": "m", "role": "ROLE_USER", "parts": parts}))
    [asked] = [one for one in model.requests[0].messages if isinstance(one, UserMessage)]
    assert any(isinstance(part, ImagePart) for part in asked.content)
