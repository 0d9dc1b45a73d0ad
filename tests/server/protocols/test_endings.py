"""Why there is no answer, and whether an answer is whole: the same for the clients of all protocols."""

from __future__ import annotations

from typing import Any

import pytest

from server.protocols.scenario import PARAMETERS, looker, streamed
from server.serving import serving
from treadle import Agent, RetryPolicy, ScriptedModel
from treadle._server.protocols.endings import without_addresses
from treadle._types.errors import TransientModelError
from treadle._types.request import Reply

QUESTION = {"role": "user", "content": "?"}
LOOK: Any = {"type": "function", "function": {"name": "look", "parameters": PARAMETERS}}
FACADES: dict[str, tuple[str, dict[str, Any]]] = {
    "chat completions": ("/v1/chat/completions", {"messages": [QUESTION]}),
    "responses": ("/v1/responses", {"input": "?"}),
    "anthropic": ("/v1/messages", {"messages": [QUESTION], "max_tokens": 9}),
}


def how_it_ended(answer: dict[str, Any]) -> str:
    if "choices" in answer:
        return answer["choices"][0]["finish_reason"]
    return answer.get("stop_reason") or answer["incomplete_details"]["reason"]


@pytest.mark.parametrize("source", ["direct", "synthesize"])
@pytest.mark.parametrize("protocol", FACADES)
def test_a_reply_that_was_cut_off_is_not_reported_as_whole(protocol: str, source: Any):
    path, body = FACADES[protocol]
    cut = Reply("half an ans", finish="length")
    model = ScriptedModel([cut] if source == "direct" else ["Whole.", cut], repeat_last=True)
    with serving({"a": Agent(model, tools=None, answer=source)}) as client:
        whole = client.post(path, {"model": "a", **body})
        assert how_it_ended(whole) in ("length", "max_tokens", "max_output_tokens")
        events = streamed(client, path, {"model": "a", **body, "stream": True})
        shown = str(events[-2:])
        assert "'length'" in shown or "max_tokens" in shown or "max_output_tokens" in shown, shown


def test_what_an_earlier_reply_was_cut_off_at_does_not_count():
    model = ScriptedModel([Reply("", (), finish="length"), "Whole."])
    with serving({"a": Agent(model, tools=None)}) as client:
        path, body = FACADES["chat completions"]
        assert how_it_ended(client.post(path, {"model": "a", **body})) == "stop"


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("cannot connect to http://10.0.0.7:9/in/v1: refused", "cannot connect to (address): refused"),
        ("Connect call failed ('127.0.0.1', 9)", "Connect call failed (address)"),
        ("Connect call failed ('::1', 9, 0, 0); no route", "Connect call failed (address); no route"),
        ("10.0.0.1:80, fe80::1, ::1 and [::1]:80", "(address), (address), (address) and (address)"),
        ("vllm:8000 and db.internal:54", "(address) and (address)"),
        ("HTTP 529: overloaded at 12:30:45, qwen3:14b", "HTTP 529: overloaded at 12:30:45, qwen3:14b"),
    ],
)
def test_addresses_in_errors(told: str, shown: str):
    assert without_addresses(told) == shown


@pytest.mark.parametrize("protocol", FACADES)
def test_clients_are_not_told_which_machines_stand_behind_the_server(protocol: str):
    path, body = FACADES[protocol]
    error = TransientModelError("openai: cannot connect to http://10.0.0.7:9/internal/v1: is the server running?")
    agent = Agent(ScriptedModel([error], repeat_last=True), tools=None, retry=RetryPolicy(attempts=1))
    with serving({"a": agent}) as client:
        answer = client.ask("POST", path, {"model": "a", **body})
        assert answer.status == 503
        assert "cannot connect to (address)" in answer.error
        assert client.ask("POST", path, {"model": "a", **body, "stream": True}).error == answer.error
        message = {"message": {"parts": [{"text": "?"}]}}
        task = client.ask(
            "POST", "/a2a/a", {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message}
        ).json["result"]["task"]
        assert task["status"]["state"] == "TASK_STATE_FAILED"
        assert "(address)" in str(task)
        assert "10.0.0.7" not in str(task)


def test_results_for_a_run_that_was_cancelled_are_not_worth_another_attempt():
    with serving({"a": looker()}) as client:
        path = "/v1/chat/completions"
        first = client.post(path, {"model": "a", "messages": [QUESTION], "tools": [LOOK]})
        message = first["choices"][0]["message"]
        client.ask("POST", f"/api/runs/{first['id'].removeprefix('chatcmpl-')}/cancel")
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "a cat"}
        answer = client.ask("POST", path, {"model": "a", "messages": [QUESTION, message, result], "tools": [LOOK]})
        assert (answer.status, answer.headers["x-should-retry"]) == (409, "false")


@pytest.mark.parametrize("calls", [[{"id": "x", "function": 5}], [{"id": "x", "function": None}]])
def test_a_call_of_the_history_that_is_none_is_a_bad_request(calls: Any):
    with serving({"a": Agent(ScriptedModel(["x"]), tools=None)}) as client:
        said = {"role": "assistant", "content": None, "tool_calls": calls}
        answer = client.ask("POST", "/v1/chat/completions", {"model": "a", "messages": [said, QUESTION]})
        assert answer.status == 400
        assert "a call of the history cannot be" in answer.error


def test_a_stop_sequence_is_named_to_anthropics_clients():
    agent = Agent(ScriptedModel(["One, two END three"], chunk=3, repeat_last=True), tools=None)
    path, body = FACADES["anthropic"]
    with serving({"a": agent}) as client:
        asked = {"model": "a", **body, "stop_sequences": ["zzz", "END"]}
        whole = client.post(path, asked)
        assert (whole["stop_reason"], whole["stop_sequence"]) == ("stop_sequence", "END")
        events = streamed(client, path, {**asked, "stream": True})
        [ended] = [event["delta"] for event in events if event["type"] == "message_delta"]
        assert ended == {"stop_reason": "stop_sequence", "stop_sequence": "END"}
        plain = client.post(path, {**asked, "stop_sequences": ["zzz"]})
        assert (plain["stop_reason"], plain["stop_sequence"]) == ("end_turn", None)
