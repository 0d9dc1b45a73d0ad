"""Every operation of the OpenAPI document as another user and as nobody: what is somebody's is not there for others."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import treadle._server
from kit import call
from server.serving import ANN, BOB, TOKENS, Client, has_results, serving
from treadle import Agent, ScriptedModel
from treadle._server.app import OPERATIONS
from treadle._server.authenticator import Principal
from treadle._server.live.owned import Runs, id_prefix

SECRET = "turquoise elephant"
PAGES = (1, 2, 3)
"""Bob has two runs in a conversation that has the name of Ann's: a page of two ends exactly at its boundary."""


def agent() -> Agent[Any, Any]:
    return Agent(ScriptedModel(lambda request: "fine"), None)


def requests_of(operation: dict[str, Any], path: str, method: str, run: str) -> Iterator[tuple[str, str, Any]]:
    """Requests of an operation about a run: in its path, in each field of its query, in each of its body, with pages of
    every size."""
    named = {"seq": "0", "number": "0", "name": "x", "agent": "demo", "store": "demo", "memory": "1", "tool": "x"}
    filled = re.sub(r"\{(\w+)\}", lambda match: named.get(match[1], run), path)
    fields = [one["name"] for one in operation.get("parameters", []) if one["in"] == "query"]
    sizes = PAGES if "limit" in fields else (0,)
    texts = [
        name for name in fields if name not in ("limit", "since", "until", "detail", "download", "stream", "status")
    ]
    for size, name in itertools.product(sizes, ["", *texts]):
        values = {"limit": str(size)} if size else {}
        values |= {name: run} if name else {}
        if {"first", "second"} <= {*texts}:
            values |= {"first": run, "second": run}
        query = "&".join(f"{key}={value}" for key, value in values.items())
        for body in BODIES(run) if "requestBody" in operation else [None]:
            yield method.upper(), filled + (f"?{query}" if query else ""), body


def BODIES(run: str) -> list[Any]:
    """Bodies that name a run wherever a body of some operation can name one; an operation refuses those of others."""
    call_id = f"call_{run}_1_0"
    say = [{"role": "user", "content": "?"}]
    return [
        {"question": "?", "run_id": run},
        {"question": "?", "conversation": run, "follows": run},
        {"text": "x"},
        {"call_id": "x", "allow": True},
        {"call_id": "x", "content": "x"},
        {"at": 0},
        {"title": "mine"},
        {"note": "mine"},
        {"answer": "x"},
        {"requests": 1},
        {"summary": "mine"},
        {"args": {}},
        {"model": "demo", "messages": say, "conversation": run},
        {"model": "demo", "max_tokens": 9, "messages": say},
        {"model": "demo", "messages": [*say, {"role": "tool", "tool_call_id": call_id, "content": "x"}]},
        {"model": "demo", "input": "?", "previous_response_id": f"resp_{run}"},
        {"model": "demo", "input": "?", "conversation": run},
        {"threadId": run, "runId": run, "messages": [{"id": "1", **say[0]}], "tools": [], "context": [], "state": {}},
        {"id": run, "messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "?"}]}]},
        *(
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            for method, params in [
                ("GetTask", {"id": run}),
                ("CancelTask", {"id": run}),
                ("SubscribeToTask", {"id": run}),
                ("ListTasks", {"contextId": run, "pageSize": 1}),
                ("SendMessage", {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "?"}],
                                             "contextId": run}}),
                ("SendMessage", {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "?"}],
                                             "taskId": run}}),
            ]
        ),
    ]  # fmt: skip


def cases(client: Client, run: str) -> list[tuple[str, str, Any]]:
    document = client.get("/openapi.json")
    return [
        case
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        for case in requests_of(operation, path, method, run)
    ]


def test_no_operation_shows_or_changes_what_belongs_to_another_user(record_property: Any):
    with serving({"demo": agent()}, tokens=TOKENS) as client:
        ann, bob = client.as_user(ANN), client.as_user(BOB)
        run = ann.ran(f"my {SECRET}")
        ann.post(f"/api/conversations/{run}/title", {"title": f"about the {SECRET}"})
        before = ann.get(f"/api/runs/{run}/records")
        for _ in range(2):
            bob.wait(bob.start("mine", conversation=run))
        sent = cases(client, run)
        record_property("cases", len(sent))
        print(len(sent), "cases")
        assert len(sent) > 300
        for method, path, body in sent:
            answer = bob.ask(method, path, body)
            assert SECRET.encode() not in answer.data, (method, path, body)
            assert answer.status < 500 or answer.status == 503, (method, path, body, answer.data)
            assert SECRET.encode() not in client.ask(method, path, body).data, (method, path, body, "as nobody")
        assert ann.get(f"/api/runs/{run}/records") == before
        assert ann.get(f"/api/conversations/{run}")["runs"][0]["run_id"] == run
        assert [one["title"] for one in ann.get("/api/conversations")["conversations"]] == [f"about the {SECRET}"]


@pytest.mark.parametrize("wanted", ["order-17-of-ann", "0123456789abcdef0123456789abcdef"])
def test_an_id_that_another_user_has_is_an_id_like_any_other(wanted: str):
    """Whether a run exists is not told by a conflict, by another status, or by another form of the answer."""
    with serving({"demo": agent()}, tokens=TOKENS) as client:
        ann, bob = client.as_user(ANN), client.as_user(BOB)
        first = ann.post("/api/runs", {"question": SECRET, "run_id": wanted}, 201)
        taken = bob.ask("POST", "/api/runs", {"question": "?", "run_id": first["run_id"]})
        free = bob.ask("POST", "/api/runs", {"question": "?", "run_id": "never-used-before"})
        assert (taken.status, taken.json.keys()) == (free.status, free.json.keys()) == (201, first.keys())
        prefix = bob.get("/api/session")["id_prefix"]
        assert all(one.json["run_id"].startswith(prefix) for one in (taken, free))
        again = bob.post("/api/runs", {"question": "?", "run_id": first["run_id"]}, 200)
        assert again == taken.json, "the same request again is the same run"
        assert ann.get(f"/api/runs/{wanted}")["question"] == SECRET, "its own name for a run finds it"
        assert bob.get(f"/api/runs/{first['run_id']}")["question"] == "?"
        ann.wait(first["run_id"])
        more = ann.post("/api/runs", {"question": "and?", "conversation": wanted, "follows": wanted}, 201)
        assert more["conversation"] == first["conversation"], "and its conversation"
        assert len(ann.get(f"/api/conversations/{wanted}")["runs"]) == 2
        own = prefix + "0" * 20
        assert bob.post("/api/runs", {"question": "?", "run_id": own}, 201)["run_id"] == own


def ag_ui(call_id: str = "") -> tuple[str, dict[str, Any]]:
    """A question in a thread; with the id of a call, the page's result of it."""
    said: list[dict[str, Any]] = [{"id": "1", "role": "user", "content": f"my {SECRET}"}]
    function = {"name": "look", "arguments": "{}"}
    made = {"id": "2", "role": "assistant", "toolCalls": [{"id": call_id, "type": "function", "function": function}]}
    result = {"id": "3", "role": "tool", "toolCallId": call_id, "content": "a cat"}
    tools = [{"name": "look", "description": "Looks.", "parameters": {"type": "object"}}]
    thread = {"threadId": "t1", "runId": "r1", "tools": tools, "context": [], "state": {}, "forwardedProps": {}}
    return "/ag-ui/demo", {**thread, "messages": [*said, made, result] if call_id else said}


def use_chat(call_id: str = "") -> tuple[str, dict[str, Any]]:
    said: list[dict[str, Any]] = [{"id": "1", "role": "user", "parts": [{"type": "text", "text": f"my {SECRET}"}]}]
    part = {"type": "tool-look", "toolCallId": call_id, "input": {}, "state": "output-available", "output": "a cat"}
    tools = [{"name": "look", "description": "Looks.", "parameters": {"type": "object"}}]
    messages = [*said, {"id": "2", "role": "assistant", "parts": [part]}] if call_id else said
    return "/vercel/demo", {"id": "t1", "messages": messages, "tools": tools}


@pytest.mark.parametrize("thread", [ag_ui, use_chat])
def test_a_thread_of_another_user_is_neither_joined_nor_continued(thread: Any):
    """Ids that a page chooses, equal requests, and the ids of calls that wait for the page."""
    model = ScriptedModel(lambda r: "I see." if has_results(r) else call("look"))
    with serving({"demo": Agent(model, None)}, tokens=TOKENS) as client:
        ann, bob = client.as_user(ANN), client.as_user(BOB)
        asked = [user.ask("POST", *thread()).data.decode() for user in (ann, bob, ann)]
        calls = [re.findall(r"call_[0-9a-f]{32}_\d+_\d+", text)[0] for text in asked]
        assert calls[0] != calls[1], "an equal request of another user is another run"
        run = calls[0].split("_")[1]
        before = ann.get(f"/api/runs/{run}/records")
        refused = bob.ask("POST", *thread(calls[0]))
        assert (refused.status, SECRET in refused.data.decode()) == (404, False)
        assert ann.get(f"/api/runs/{run}/records") == before
        assert ann.get(f"/api/runs/{run}")["status"] == "paused"
        assert b"I see." in ann.ask("POST", *thread(calls[0])).data, "it waits for its own user"


def test_nobody_has_no_view_and_handlers_have_no_other():
    with pytest.raises(Exception, match="token"):
        Runs(None, Principal())  # pyright: ignore[reportArgumentType]
    assert id_prefix("ann") != id_prefix("bob")
    folder = Path(treadle._server.__file__).parent
    handlers = [*(folder / "api").glob("*.py"), *(folder / "protocols").glob("*.py")]
    for path in handlers:
        nodes = list(ast.walk(ast.parse(path.read_text())))
        assert not [n.lineno for n in nodes if isinstance(n, ast.Attribute) and n.attr in ("journal", "_journal")], path
        made = [
            n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "OwnedRun"
        ]
        assert not made, path
    assert len(OPERATIONS) > 30
