"""Personal data are masked in the log, and restored for the client of every protocol: streamed, whole, and later."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from kit import call
from server.protocols.facades import FACADES, answer_in
from server.serving import ANN, BOB, TOKENS, Client, serving
from treadle import Agent, ScriptedModel, external_tool
from treadle._safety.personal.vault import PLACEHOLDER
from treadle._types.errors import RequestRefusedError
from treadle._types.messages import ToolMessage
from treadle.plugins import PersonalData

EMAIL = "anna@example.org"
WHOLE = f"To {EMAIL}, [not] again {EMAIL}."
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
WHOLE_PATHS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "chat completions": ("/v1/chat/completions", "choices.0.message.content", {"stream": False}),
    "responses": ("/v1/responses", "output.0.content.0.text", {"stream": False}),
    "anthropic": ("/v1/messages", "content.0.text", {"stream": False}),
    "a2a": ("/a2a/worker", "result.task.artifacts.0.parts.0.text", {"method": "SendMessage"}),
}


def placeholder(request: Any) -> str:
    found = [match[0] for message in request.messages for match in PLACEHOLDER.finditer(str(message))]
    assert found, "the model was sent the datum itself, or nothing of it"
    return found[0]


def worker(chunk: int = 3, model: Any = None) -> Agent:
    def reply(request: Any) -> str:
        found = placeholder(request)
        return f"To {found}, [not] again {found}."

    return Agent(model or ScriptedModel(reply, chunk=chunk), None, plugins=[PersonalData()])


def asking(protocol: str, text: str = f"Write to {EMAIL}") -> tuple[str, dict[str, Any]]:
    path, body = FACADES[protocol]
    return path, json.loads(json.dumps(body).replace("Do it.", text))


def at(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value[int(key)] if key.isdecimal() else value[key]
    return value


def log_of(client: Client) -> str:
    """Everything that the journal has, as the server tells it."""
    runs = [run["run_id"] for run in client.get("/api/runs")["runs"]]
    return str([client.get(f"/api/runs/{run}/records") for run in runs])


@pytest.mark.parametrize("chunk", [1, 4, 200])
@pytest.mark.parametrize("protocol", FACADES)
def test_a_stream_is_restored_wherever_it_is_cut(protocol: str, chunk: int):
    agent = worker(chunk)
    with serving({"worker": agent}) as client:
        sent = client.ask("POST", *asking(protocol)).data
        assert answer_in(protocol, sent) == WHOLE
        assert b"[EMAIL_" not in sent
        assert EMAIL not in log_of(client)
    assert EMAIL not in str([request.messages for request in agent.model.requests])  # type: ignore[attr-defined]


@pytest.mark.parametrize("protocol", WHOLE_PATHS)
def test_a_whole_answer_is_restored(protocol: str):
    path, where, changes = WHOLE_PATHS[protocol]
    with serving({"worker": worker()}) as client:
        body = {**asking(protocol)[1], **changes}
        assert at(client.post(path, body), where) == WHOLE
        assert EMAIL not in log_of(client)


def test_what_is_asked_for_later_is_restored():
    with serving({"worker": worker()}) as client:
        made = client.post("/v1/responses", {**asking("responses")[1], "stream": False})
        assert at(client.get(f"/v1/responses/{made['id']}"), "output.0.content.0.text") == WHOLE
        run = made["id"].removeprefix("resp_")
        for method, params, where in (
            ("GetTask", {"id": run}, "result.artifacts.0.parts.0.text"),
            ("ListTasks", {"includeArtifacts": True}, "result.tasks.0.artifacts.0.parts.0.text"),
        ):
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            assert at(client.post("/a2a/worker", body), where) == WHOLE


def test_a_typed_answer_has_the_data_as_json():
    def reply(request: Any) -> str:
        return json.dumps({"to": placeholder(request)})

    wanted = {"type": "json_schema", "json_schema": {"name": "mail", "schema": SCHEMA}}
    with serving({"worker": worker(model=ScriptedModel(reply, chunk=3))}) as client:
        path, body = asking("chat completions")
        answer = client.post(path, {**body, "stream": False, "response_format": wanted})
        assert json.loads(at(answer, "choices.0.message.content")) == {"to": EMAIL}
        sent = client.ask("POST", path, {**body, "response_format": wanted, "seed": 1}).data
        assert json.loads(answer_in("chat completions", sent)) == {"to": EMAIL}


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_ends_before_the_words_that_its_reader_would_see(stream: bool):
    with serving({"worker": worker(2)}) as client:
        path, body = asking("chat completions")
        answer = client.ask("POST", path, {**body, "stream": stream, "stop": ["@example"]})
        text = answer_in("chat completions", answer.data) if stream else at(answer.json, "choices.0.message.content")
        assert text == "To anna"


TOOL = {"type": "function", "function": {"name": "send_mail", "description": "Sends.", "parameters": SCHEMA}}


def calling() -> Agent:
    """Has its client send a mail, then says what that told."""

    def reply(request: Any) -> Any:
        if isinstance(request.messages[-1], ToolMessage):
            return f"It says: {request.messages[-1].content}"
        return call("send_mail", to=placeholder(request))

    return worker(model=ScriptedModel(reply, chunk=3))


@pytest.mark.parametrize("stream", [True, False])
def test_a_call_that_the_client_executes_has_the_data_and_its_result_is_masked(stream: bool):
    other = "bob@example.org"
    agent = calling()
    with serving({"worker": agent}) as client:
        path, body = asking("chat completions")
        body = {**body, "stream": stream, "tools": [TOOL]}
        answer = client.ask("POST", path, body)
        if stream:
            lines = [line[6:] for line in answer.data.decode().splitlines() if line.startswith("data: {")]
            deltas = [one["delta"] for line in lines for one in json.loads(line)["choices"]]
            made = next(delta["tool_calls"][0] for delta in deltas if delta.get("tool_calls"))
        else:
            made = at(answer.json, "choices.0.message.tool_calls.0")
        assert json.loads(made["function"]["arguments"]) == {"to": EMAIL}
        told = [
            {"role": "assistant", "tool_calls": [made]},
            {"role": "tool", "tool_call_id": made["id"], "content": f"sent to {EMAIL}, copy to {other}"},
        ]
        answer = client.ask("POST", path, {**body, "messages": [*body["messages"], *told]})
        text = answer_in("chat completions", answer.data) if stream else at(answer.json, "choices.0.message.content")
        assert text == f"It says: sent to {EMAIL}, copy to {other}"
        assert "example.org" not in log_of(client)
    sent = msgspec.json.encode([request.messages for request in agent.model.requests])  # type: ignore[attr-defined]
    assert b"example.org" not in sent


@pytest.mark.parametrize("protocol", ["anthropic", "responses", "ag-ui", "useChat", "a2a"])
def test_the_client_of_every_protocol_gets_the_arguments_restored(protocol: str):
    tool = TOOL["function"]
    tools: dict[str, Any] = {
        "anthropic": [{"name": "send_mail", "input_schema": SCHEMA}],
        "responses": [{"type": "function", **tool}],  # type: ignore[dict-item]
        "ag-ui": [tool],
        "useChat": [tool],
    }
    agent = calling()
    given = [external_tool("send_mail", "Sends.", SCHEMA)] if protocol == "a2a" else None
    agent = Agent(agent.model, given, plugins=[PersonalData()])
    with serving({"worker": agent}) as client:
        path, body = asking(protocol)
        body = {**body, "tools": tools[protocol]} if protocol in tools else body
        sent = client.ask("POST", path, body).data
        assert EMAIL.encode() in sent
        assert b"[EMAIL_" not in sent


@pytest.mark.parametrize("protocol", FACADES)
def test_an_error_is_told_with_the_data(protocol: str):
    def reply(request: Any) -> str:
        raise RequestRefusedError(f"HTTP 400: I do not write to {placeholder(request)}")

    with serving({"worker": worker(model=ScriptedModel(reply))}) as client:
        sent = client.ask("POST", *asking(protocol)).data
        assert f"I do not write to {EMAIL}".encode() in sent
        assert EMAIL not in log_of(client)


def test_a_client_reads_the_data_of_its_own_user_alone():
    """Each user has placeholders of their own: what Bob quotes of Ann's stays what it is."""
    seen: list[str] = []

    def reply(request: Any) -> str:
        seen.append(placeholder(request))
        return f"It is {seen[-1]}."

    with serving({"worker": worker(model=ScriptedModel(reply, chunk=3))}, tokens=TOKENS) as client:
        path, body = asking("chat completions")
        assert answer_in("chat completions", client.as_user(ANN).ask("POST", path, body).data) == f"It is {EMAIL}."
        path, body = asking("chat completions", f"Who is {seen[0]}?")
        assert answer_in("chat completions", client.as_user(BOB).ask("POST", path, body).data) == f"It is {seen[0]}."


def test_an_official_client_reads_it():
    """Those of other protocols read our streams in tests/server/protocols/test_client_libraries.py."""
    openai = pytest.importorskip("openai")
    messages = [{"role": "user", "content": f"Write to {EMAIL}"}]
    with (
        serving({"worker": worker(1)}) as client,
        openai.OpenAI(base_url=f"{client.address}/v1", api_key="none", max_retries=0) as api,
    ):
        chunks = api.chat.completions.create(model="worker", messages=messages, stream=True)
        assert "".join(one.choices[0].delta.content or "" for one in chunks) == WHOLE
        assert api.responses.create(model="worker", input=messages[0]["content"]).output_text == WHOLE
