"""The batch interfaces: what they make of errors, refusals and requests without a response."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from models.asking import run
from models.batching.batch_servers import jsonl
from models.loopback import Answer, Loopback, Received, reply
from models.wires import KEY, AnthropicWire, ChatWire, GeminiWire, ResponsesWire
from treadle._models.batching.apis import BatchApi, Progress, Result, batch_api_for
from treadle._models.scripted import ScriptedModel
from treadle._types.errors import BadReplyError, RequestRefusedError


def with_api(wire: Any, script: Any, work: Callable[[BatchApi], Any]) -> tuple[Any, list[Received]]:
    async def main() -> tuple[Any, list[Received]]:
        async with Loopback(script) as server:
            api = batch_api_for(wire.model(server.url), anywhere=True)
            assert api is not None
            return await work(api), server.received

    return run(main())


def test_openai_requests_that_failed_are_in_the_file_of_errors():
    def script(request: Received) -> Answer:
        if request.path == "/batches/b":
            return reply({"id": "b", "status": "completed", "output_file_id": "o", "error_file_id": "e"})
        if request.path == "/files/o/content":
            return jsonl([{"custom_id": "k1", "response": {"status_code": 200, "body": {"id": "r"}}}])
        failed = {"status_code": 429, "body": {"error": {"message": "slow down"}}}
        expired = {"custom_id": "k3", "response": None, "error": {"code": "batch_expired", "message": "expired"}}
        return jsonl([{"custom_id": "k2", "response": failed}, expired])

    found, received = with_api(ChatWire(), script, lambda api: api.results("b"))
    assert found["k1"] == Result(200, b'{"id":"r"}')
    assert found["k2"].status == 429
    assert found["k3"].status == 0
    assert {request.headers["authorization"] for request in received} == {f"Bearer {KEY}"}


def test_openai_states():
    states = ["validating", "in_progress", "finalizing", "completed", "failed", "expired", "cancelled"]
    answers = [reply({"id": "b", "status": state, "request_counts": {"total": 2, "completed": 1}}) for state in states]

    async def work(api: BatchApi) -> list[Progress]:
        return [await api.poll("b") for _ in states]

    found, _ = with_api(ChatWire(), answers, work)
    assert [one.ended for one in found] == [False, False, False, True, True, True, True]
    assert (found[0].done, found[0].total) == (1, 2)


def test_openai_a_file_that_was_refused():
    refused = reply({"id": "b", "status": "failed", "errors": {"data": [{"message": "line 1 is no JSON"}]}})
    with pytest.raises(BadReplyError, match="line 1 is no JSON"):
        with_api(ChatWire(), [refused], lambda api: api.results("b"))


def test_openai_responses_name_their_own_address():
    answers = [reply({"id": "file-1"}), reply({"id": "b"})]
    batch, received = with_api(ResponsesWire(), answers, lambda api: api.submit([("k", b'{"model":"m"}')]))
    assert batch == "b"
    assert received[1].json["endpoint"] == "/v1/responses"
    assert b'"url":"/v1/responses"' in received[0].body
    assert "multipart/form-data" in received[0].headers["content-type"]


def test_anthropic_errors():
    lines = [
        {"custom_id": "a", "result": {"type": "succeeded", "message": {"id": "m"}}},
        {"custom_id": "b", "result": {"type": "errored", "error": {"error": {"type": "overloaded_error"}}}},
        {"custom_id": "c", "result": {"type": "errored", "error": {"type": "invalid_request_error"}}},
        {"custom_id": "d", "result": {"type": "expired"}},
    ]
    found, received = with_api(AnthropicWire(), [jsonl(lines)], lambda api: api.results("b"))
    assert {key: result.status for key, result in found.items()} == {"a": 200, "b": 529, "c": 400}
    assert received[0].path == "/v1/messages/batches/b/results"
    assert received[0].headers["x-api-key"] == KEY


def test_gemini_errors():
    inlined = [
        {"response": {"candidates": []}, "metadata": {"key": "a"}},
        {"error": {"code": 429, "message": "slow"}, "metadata": {"key": "b"}},
    ]
    done = {"done": True, "response": {"inlinedResponses": {"inlinedResponses": inlined}}}
    found, _ = with_api(GeminiWire(), [reply(done)], lambda api: api.results("batches/1"))
    assert {key: result.status for key, result in found.items()} == {"a": 200, "b": 429}
    with pytest.raises(BadReplyError, match="the batch failed"):
        with_api(GeminiWire(), [reply({"done": True, "error": {"code": 3}})], lambda api: api.results("batches/1"))


@pytest.mark.parametrize("wire", [ChatWire(), AnthropicWire(), GeminiWire()], ids=lambda wire: wire.name)
def test_interfaces_that_refuse_or_say_nonsense(wire: Any):
    requests = [("k", b"{}")]
    with pytest.raises(RequestRefusedError):
        with_api(wire, [wire.error(401, "no")], lambda api: api.submit(requests))
    with pytest.raises(BadReplyError, match="gave no"):
        with_api(wire, [reply({"x": 1})], lambda api: api.submit(requests))
    with_api(wire, [Answer(pieces=[b"\xff{}\nnull\n"], length=True)], lambda api: api.poll("b"))


def test_who_has_one():
    assert batch_api_for(ScriptedModel(["x"])) is None
    assert batch_api_for(ChatWire().model("http://127.0.0.1:9")) is None
