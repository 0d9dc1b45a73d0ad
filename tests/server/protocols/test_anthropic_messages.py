"""Anthropic's Messages protocol, as its clients send it; the official SDK is in test_client_libraries.py."""

from __future__ import annotations

from typing import Any

import pytest

from server.protocols.scenario import PARAMETERS, looker, streamed
from server.serving import ANN, BOB, TOKENS, serving
from treadle import Agent, ScriptedModel
from treadle._types.errors import RequestRefusedError
from treadle._types.messages import ImagePart, UserMessage

ASK: Any = {"model": "looker", "max_tokens": 1000, "messages": [{"role": "user", "content": "What is there?"}]}
TOOLS = [{"name": "look", "description": "Looks.", "input_schema": PARAMETERS}]


@pytest.fixture(scope="module")
def client() -> Any:
    failing = Agent(ScriptedModel([RequestRefusedError("HTTP 401: wrong key", status=401)], repeat_last=True), None)
    talking = Agent(ScriptedModel(["One, two END three"], chunk=1, repeat_last=True), None)
    with serving({"looker": looker(), "failing": failing, "talking": talking}, tokens=TOKENS) as server:
        yield server.as_user(ANN)


def ask(client: Any, **changes: Any) -> Any:
    return client.post("/v1/messages", {**ASK, **changes})


def test_an_answer_whole_and_streamed(client: Any):
    answer = ask(client)
    assert (answer["type"], answer["role"], answer["stop_reason"]) == ("message", "assistant", "end_turn")
    assert answer["content"] == [{"type": "text", "text": "It is 5."}]
    events = streamed(client, "/v1/messages", {**ASK, "stream": True})
    assert [event["type"] for event in events][:2] == ["message_start", "content_block_start"]
    pieces = [event["delta"]["text"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(pieces) == "It is 5."
    assert [event["type"] for event in events][-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert events[-2]["usage"]["output_tokens"] > 0


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("failed", [False, True])
def test_tools_of_the_client(client: Any, stream: bool, failed: bool):
    def content(**changes: Any) -> list[dict[str, Any]]:
        if not stream:
            return ask(client, tools=TOOLS, **changes)["content"]
        blocks: list[dict[str, Any]] = []
        for event in streamed(client, "/v1/messages", {**ASK, "tools": TOOLS, "stream": True, **changes}):
            if event["type"] == "content_block_start":
                blocks.append(event["content_block"])
            elif event["type"] == "content_block_delta":
                blocks[-1]["text"] = blocks[-1].get("text", "") + event["delta"].get("text", "")
        return blocks

    said = content()
    wanted = said[-1]
    assert (wanted["type"], wanted["name"]) == ("tool_use", "look")
    result = {"type": "tool_result", "tool_use_id": wanted["id"], "content": "a cat", "is_error": failed}
    past = [*ASK["messages"], {"role": "assistant", "content": said}, {"role": "user", "content": [result]}]
    for _ in range(2):  # repeated after a lost response: the same run, the same answer
        assert content(messages=past)[-1]["text"] == "I see a cat."


def test_stop_sequences_and_a_schema(client: Any):
    answer = ask(client, model="talking", stop_sequences=["END"])
    assert answer["content"][0]["text"] == "One, two "
    agent = Agent(ScriptedModel(['{"total": 5}']), None)
    schema = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
    with serving({"a": agent}) as server:
        wanted = {"format": {"type": "json_schema", "schema": schema}}
        answer = server.post("/v1/messages", {**ASK, "model": "a", "output_config": wanted})
        assert answer["content"][0]["text"] == '{"total": 5}'


def test_an_image():
    model = ScriptedModel(["A dot."], abilities={"vision": True})
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    blocks = [{"type": "image", "source": source}, {"type": "text", "text": "What is it?"}]
    with serving({"a": Agent(model, None)}) as server:
        server.post("/v1/messages", {**ASK, "model": "a", "messages": [{"role": "user", "content": blocks}]})
    [asked] = [message for message in model.requests[0].messages if isinstance(message, UserMessage)]
    assert any(isinstance(part, ImagePart) for part in asked.content)


def test_a_document_that_is_text():
    model = ScriptedModel(["A word."])
    source = {"type": "text", "media_type": "text/plain", "data": "The word is xyzzy."}
    blocks = [{"type": "document", "title": "w.txt", "source": source}, {"type": "text", "text": "Which word?"}]
    with serving({"a": Agent(model, None)}) as server:
        server.post("/v1/messages", {**ASK, "model": "a", "messages": [{"role": "user", "content": blocks}]})
    assert "The word is xyzzy." in str(model.requests[0].messages)


def test_errors_have_the_form_that_clients_read(client: Any):
    answer = client.ask("POST", "/v1/messages", {**ASK, "model": "failing"})
    assert (answer.status, answer.json["type"], answer.json["error"]["type"]) == (424, "error", "run_failed")
    assert answer.headers["x-should-retry"] == "false"
    for wrong in ({"max_tokens": 0}, {"messages": []}, {"tool_choice": {"type": "any"}}, {"tools": [{"name": "x"}]}):
        assert client.ask("POST", "/v1/messages", {**ASK, **wrong}).status == 400


def test_the_key_may_come_as_these_clients_send_it(client: Any):
    plain = client.as_user("")
    assert plain.ask("POST", "/v1/messages", ASK).status == 401
    assert plain.ask("POST", "/v1/messages", ASK, x_api_key="wrong").status == 401
    assert plain.ask("POST", "/v1/messages", ASK, x_api_key=BOB).status == 200


def test_tokens_are_counted_before_they_are_sent(client: Any):
    def count(**changes: Any) -> int:
        asked = {key: value for key, value in ASK.items() if key != "max_tokens"}
        return client.post("/v1/messages/count_tokens", {**asked, **changes})["input_tokens"]

    assert 0 < count() < count(tools=TOOLS) < count(tools=TOOLS, system="Be brief. " * 100)
    assert count(messages=[{"role": "user", "content": "word " * 1000}]) - count() > 1000
    wanted = ask(client, tools=TOOLS)["content"][-1]
    result = {"type": "tool_result", "tool_use_id": wanted["id"], "content": "a cat " * 500}
    past = [*ASK["messages"], {"role": "assistant", "content": [wanted]}, {"role": "user", "content": [result]}]
    runs = len(client.get("/api/runs")["runs"])
    assert count(messages=past) - count() > 500
    assert len(client.get("/api/runs")["runs"]) == runs, "nothing is run for it"
    assert client.ask("POST", "/v1/messages/count_tokens", {**ASK, "model": "nobody"}).status == 404
