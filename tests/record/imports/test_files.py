"""Dumps and traces from elsewhere become runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit import go
from treadle import ConfigError, replay
from treadle._journal.export import export_run
from treadle._journal.memory import MemoryJournal
from treadle._record.imports.files import import_file
from treadle._types import events as ev
from treadle._types.state import RunState, fold

ASK = "What does the lamp cost?"
CALL = {"id": "c1", "type": "function", "function": {"name": "price", "arguments": '{"item": "lamp"}'}}
OPENAI = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": ASK},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "40"},
    {"role": "assistant", "content": "40 dollars."},
]
ANTHROPIC = {
    "model": "claude-sonnet-4-5",
    "system": "Be brief.",
    "tools": [{"name": "price", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": ASK},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "price", "input": {"item": "lamp"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "40"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "40 dollars."}]},
    ],
}
RESPONSES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": ASK},
    {"type": "function_call", "call_id": "c1", "name": "price", "arguments": '{"item": "lamp"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "40"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "40 dollars."}]},
]


async def states(data: Any, name: str = "chat.json") -> list[RunState]:
    journal = MemoryJournal()
    done = await import_file(journal, data if isinstance(data, bytes) else json.dumps(data).encode(), name)
    runs = [await journal.load(run) for run in done.runs]
    assert all(replay(records).same for records in runs)
    return [fold(records) for records in runs]


def check(state: RunState) -> None:
    assert state.question == ASK
    assert state.started.system == "Be brief."
    assert [(step.tool, step.args, step.observation) for step in state.steps] == [("price", {"item": "lamp"}, "40")]
    assert (state.finished.stop_reason, state.finished.answer) == ("answer", "40 dollars.")
    assert state.usage.requests == 2


@pytest.mark.parametrize(
    "dump", [OPENAI, {"messages": OPENAI}, ANTHROPIC, RESPONSES], ids=["list", "object", "anthropic", "responses"]
)
def test_a_dump_of_messages_is_a_run(dump: Any):
    (state,) = go(states(dump))
    check(state)
    assert state.started.agent == "chat"


def test_lines_of_conversations_are_a_run_each():
    lines = b"\n".join(json.dumps({"messages": OPENAI}).encode() for _ in range(3))
    found = go(states(lines, "train.jsonl"))
    assert len(found) == 3
    for state in found:
        check(state)


def test_a_dump_that_ends_with_a_result_stays_to_be_continued():
    (state,) = go(states(OPENAI[:4]))
    assert [step.observation for step in state.steps] == ["40"]


def part(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


USER = {"role": "user", "parts": [part("text", content=ASK)]}
USED = {"role": "assistant", "parts": [part("tool_call", id="c1", name="price", arguments={"item": "lamp"})]}
TOLD = {"role": "tool", "parts": [part("tool_call_response", id="c1", response="40")]}
SAID = {"role": "assistant", "parts": [part("text", content="40 dollars.")], "finish_reason": "stop"}


def otlp(start: int, attributes: dict[str, Any]) -> dict[str, Any]:
    def value(given: Any) -> dict[str, Any]:
        if isinstance(given, list):
            return {"arrayValue": {"values": [value(item) for item in given]}}
        return {"intValue": str(given)} if isinstance(given, int) else {"stringValue": given}

    pairs = [{"key": key, "value": value(given)} for key, given in attributes.items()]
    times = {"startTimeUnixNano": str(start * 10**9), "endTimeUnixNano": str((start + 2) * 10**9)}
    return {"name": "chat", "traceId": "t", "spanId": "s", **times, "attributes": pairs}


def attributes(given: list[Any], said: Any) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.system_instructions": json.dumps([part("text", content="Be brief.")]),
        "gen_ai.input.messages": json.dumps(given),
        "gen_ai.output.messages": json.dumps([said]),
        "gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "price", "parameters": {}}]),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.response.finish_reasons": ["stop"],
    }


FIRST, SECOND = attributes([USER], USED), attributes([USER, USED, TOLD], SAID)


def test_a_trace_as_otlp():
    spans = [otlp(20, SECOND), otlp(10, FIRST), otlp(5, {"gen_ai.operation.name": "invoke_agent"})]
    document = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}
    (state,) = go(states(document, "trace.json"))
    check(state)
    assert (state.usage.input_tokens, state.created) == (200, 10.0)


def test_a_trace_as_the_sdk_prints_it():
    spans = [
        {"name": "chat", "start_time": f"2026-01-01T00:00:{n:02}.0Z", "end_time": f"2026-01-01T00:00:{n + 1:02}.0Z",
         "attributes": fields, "events": []}
        for n, fields in ((1, FIRST), (5, SECOND))
    ]  # fmt: skip
    text = "\n".join(json.dumps(span, indent=4) for span in spans)
    (state,) = go(states(text.encode(), "console.txt"))
    check(state)


def test_contents_in_events_of_a_span():
    def span(start: int, messages: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
        fields = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o-mini"}
        events = [{"name": f"gen_ai.{name}", "attributes": given} for name, given in messages]
        return {"start_time": float(start), "end_time": start + 1.0, "attributes": fields, "events": events}

    begin = [("system.message", {"content": "Be brief."}), ("user.message", {"content": ASK})]
    used = {"tool_calls": json.dumps([CALL])}
    first = [*begin, ("choice", {"message": json.dumps(used)})]
    told = [("assistant.message", used), ("tool.message", {"id": "c1", "content": "40"})]
    second = [*begin, *told, ("choice", {"message": json.dumps({"content": "40 dollars."})})]
    (state,) = go(states([span(1, first), span(2, second)], "events.json"))
    check(state)


def test_contents_in_numbered_attributes():
    base = {"llm.request.type": "chat", "gen_ai.request.model": "gpt-4o-mini", "gen_ai.prompt.0.role": "system",
            "gen_ai.prompt.0.content": "Be brief.", "gen_ai.prompt.1.role": "user",
            "gen_ai.prompt.1.content": ASK}  # fmt: skip

    def call(at: str) -> dict[str, Any]:
        given = {"id": "c1", "name": "price", "arguments": '{"item": "lamp"}'}
        return {f"gen_ai.{at}.tool_calls.0.{key}": value for key, value in given.items()}

    told = {"gen_ai.prompt.2.role": "assistant", **call("prompt.2"), "gen_ai.prompt.3.role": "tool",
            "gen_ai.prompt.3.tool_call_id": "c1", "gen_ai.prompt.3.content": "40"}  # fmt: skip
    spans = [
        otlp(1, {**base, **call("completion.0")}),
        otlp(4, {**base, **told, "gen_ai.completion.0.content": "40 dollars."}),
    ]
    (state,) = go(states({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}, "numbers.json"))
    check(state)


async def test_an_exported_run_is_still_imported():
    journal, other = MemoryJournal(), MemoryJournal()
    (run,) = (await import_file(journal, json.dumps(OPENAI).encode(), "a.json")).runs
    data = await export_run(journal, run)
    assert (await import_file(other, data, "a.jsonl")).runs == (run,)
    info = await journal.info(run)
    assert (info.tags, info.agent) == (("imported",), "a")


def test_secrets_in_a_dump_are_not_stored():
    key = "sk-" + "a1b2c3d4" * 5
    (state,) = go(states([{"role": "user", "content": f"my key is {key}"}, {"role": "assistant", "content": "ok"}]))
    assert key not in str(state.conversation.transcript)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"{}", "cannot be imported"),
        (b"[1, 2]", "cannot be imported"),
        (b"nonsense", "neither"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 5000, "neither"),
        (json.dumps([otlp(1, {"gen_ai.operation.name": "chat"})]).encode(), "without contents"),
    ],
    ids=["object", "numbers", "text", "bytes", "deep", "no contents"],
)
def test_what_cannot_be_imported_is_said(data: bytes, problem: str):
    with pytest.raises(ConfigError, match=problem):
        go(states(data))


async def test_nothing_is_exchanged_in_an_import():
    journal = MemoryJournal()
    (run,) = (await import_file(journal, json.dumps(OPENAI).encode(), "a.json")).runs
    exchanged = [r.event for r in await journal.load(run) if isinstance(r.event, ev.Exchanged)]
    assert all(one.broke == "" and one.first_token is None for one in exchanged)


async def test_a_message_in_each_line_is_one_conversation():
    lines = "\n".join(json.dumps(message) for message in OPENAI)
    journal = MemoryJournal()
    (run,) = (await import_file(journal, lines.encode(), "chat.jsonl")).runs
    state = fold(await journal.load(run))
    assert state.finished.answer == "40 dollars."
    assert [step.observation for step in state.steps] == ["40"]


@pytest.mark.parametrize("odd", ["x", None, [], "9" * 5000, {"a": 1}])
async def test_numbers_of_a_trace_that_are_none(odd: Any):
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": odd}},
        {"key": "gen_ai.prompt.0.role", "value": {"stringValue": "user"}},
        {"key": "gen_ai.prompt.0.content", "value": {"stringValue": ASK}},
        {"key": "gen_ai.completion.0.content", "value": {"stringValue": "40."}},
        {"key": f"gen_ai.prompt.{'9' * 5000}.content", "value": {"stringValue": "?"}},
    ]
    span = {"attributes": attributes, "startTimeUnixNano": odd, "endTimeUnixNano": "1" * 400}
    trace = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    found = await import_file(MemoryJournal(), json.dumps(trace).encode(), "trace.json")
    assert len(found.runs) == 1
