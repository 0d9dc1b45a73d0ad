"""Every common way to write a call is read under every dialect, with the usual slips and in the markup of open models."""

from __future__ import annotations

import pytest

from dialects.samples import ADD, CALL, MARKUP, NAMES, NOW, SEARCH, SHAPES, SLIPS, TEXT_NAMES, TOOLS, decode, executable
from treadle._types.request import ToolSchema


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize("shape", SHAPES)
def test_shape(dialect: str, shape: str):
    assert executable(decode(dialect, SHAPES[shape])) == CALL


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize("slip", SLIPS)
def test_slip(dialect: str, slip: str):
    assert executable(decode(dialect, SLIPS[slip])) == CALL


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize("kind", MARKUP)
def test_markup(dialect: str, kind: str):
    assert executable(decode(dialect, MARKUP[kind])) == CALL


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize("kind", [kind for kind in MARKUP if kind not in ("pythonic", "pythonic, by place", "harmony")])
def test_markup_after_prose(dialect: str, kind: str):
    decision = decode(dialect, "I will look it up. " + MARKUP[kind])
    assert executable(decision) == CALL
    assert decision.thought == "I will look it up."


@pytest.mark.parametrize("dialect", TEXT_NAMES)
@pytest.mark.parametrize(
    "shape", [shape for shape in SHAPES if shape != "encoded whole"]
)  # a JSON string in prose is a quotation
def test_shape_after_prose(dialect: str, shape: str):
    text = (
        f"First I look it up.\nAction: {SHAPES[shape]}"
        if dialect == "action"
        else f"First I look it up.\n{SHAPES[shape]}"
    )
    assert executable(decode(dialect, text)) == CALL


@pytest.mark.parametrize("dialect", NAMES)
def test_guesses_are_marked(dialect: str):
    assert not decode(dialect, SLIPS["trailing comma"]).repaired
    assert decode(dialect, SLIPS["no last bracket"]).repaired


@pytest.mark.parametrize("dialect", NAMES)
def test_two_calls_are_two_calls(dialect: str):
    two = f'{SHAPES["name/arguments"]}\n{{"name": "add", "arguments": {{"a": 1, "b": 2}}}}'
    assert executable(decode(dialect, two)) == [*CALL, ("add", {"a": 1, "b": 2})]


@pytest.mark.parametrize("dialect", TEXT_NAMES)
def test_a_broken_call_beside_a_good_one_is_told_of(dialect: str):
    for rest, finish in (
        ('{"name": "add", "arguments": {"a": 1 "b"}}', "stop"),
        ('{"name": "add", "arguments": {"a": 1', "length"),
    ):
        decision = decode(dialect, f"{SHAPES['name/arguments']}\n{rest}", finish)
        assert executable(decision) == CALL
        assert [(call.name, bool(call.problem)) for call in decision.calls] == [("search", False), ("add", True)]


@pytest.mark.parametrize("dialect", ["json", "schema", "array"])
def test_of_a_call_and_an_answer_the_first_counts(dialect: str):
    call, answer = SHAPES["tool_name/tool_args"], '{"type": "final_answer", "answer": "made up"}'
    first = decode(dialect, f"{call}\n{answer}")
    assert executable(first) == CALL
    assert first.answer is None
    assert decode(dialect, f"{answer}\n{call}").answer == "made up"


@pytest.mark.parametrize("dialect", ["json", "schema", "array", "action"])
def test_what_follows_a_made_up_observation_does_not_count(dialect: str):
    text = f'{SHAPES["tool/inputs"]}\nObservation: 12 pages\n{{"tool": "now", "inputs": {{}}}}'
    assert executable(decode(dialect, ("Action: " if dialect == "action" else "") + text)) == CALL


@pytest.mark.parametrize("dialect", TEXT_NAMES)
def test_an_unknown_tool_is_a_call_only_if_explicit(dialect: str):
    prefix = "Action: " if dialect == "action" else ""
    assert executable(decode(dialect, prefix + '{"name": "fly", "arguments": {"to": "Rome"}}')) == [
        ("fly", {"to": "Rome"})
    ]
    assert decode(dialect, '{"name": "fly"}').calls == ()
    assert decode(dialect, '{"fly": {"to": "Rome"}}').calls == ()
    assert decode(dialect, '{"name": "Ann", "age": 7}').calls == ()


def test_native_reads_only_known_tools_from_bare_json():
    text = '{"name": "fly", "arguments": {"to": "Rome"}}'
    assert decode("native", text).answer == text
    assert executable(decode("native", f"<tool_call>{text}</tool_call>")) == [("fly", {"to": "Rome"})]


@pytest.mark.parametrize("dialect", NAMES)
def test_a_call_without_arguments(dialect: str):
    for text in (
        '{"name": "now", "arguments": {}}',
        '{"name": "now", "arguments": null}',
        '{"name": "now"}',
        '{"now": {}}',
        "<tool_call>now</tool_call>",
    ):
        assert executable(decode(dialect, text)) == [("now", {})], text


@pytest.mark.parametrize("dialect", NAMES)
def test_a_bare_value_goes_to_the_only_parameter(dialect: str):
    assert executable(decode(dialect, '{"action": "search", "action_input": "red pandas"}')) == [
        ("search", {"query": "red pandas"})
    ]
    assert not executable(decode(dialect, '{"action": "add", "action_input": "1 and 2"}', tools=(ADD,)))


@pytest.mark.parametrize("dialect", NAMES)
def test_an_echo_of_the_description_is_not_a_call(dialect: str):
    echo = '{"name": "search", "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}}'
    assert not executable(decode(dialect, echo))
    filled = '{"name": "search", "parameters": {"type": "object", "properties": {"query": "red pandas"}}}'
    assert executable(decode(dialect, filled)) == [("search", {"query": "red pandas"})]


@pytest.mark.parametrize("dialect", NAMES)
def test_prose_with_braces_is_not_a_call(dialect: str):
    for text in (
        "Use {city} and {country}.",
        "A set {1, 2, 3} and a list [4, 5].",
        'The JSON {"a": 1} has one key.',
        "if (x) { search(query) }",
        "{search}",
        "search",
        "I could use search or add.",
        '{"search": "red pandas"}',
        "[search]",
    ):
        assert decode(dialect, text).calls == (), text


@pytest.mark.parametrize("dialect", NAMES)
def test_inside_broken_json_nothing_is_a_call_of_its_own(dialect: str):
    text = '{"name": "plan", "arguments": {"say": "say "hi" twice", "steps": [{"name": "search", "arguments": {"query": "x"}}'
    assert not executable(decode(dialect, text))
    whole = '{"note": "x", "steps": [{"name": "search", "arguments": {"query": "x"}}]}'
    assert not executable(decode(dialect, whole))


@pytest.mark.parametrize("dialect", NAMES)
def test_repair_is_the_last_resort_and_marked(dialect: str):
    broken = '{"name": "search", "arguments": {"query": "the "big" one"}}'
    decision = decode(dialect, broken)
    assert executable(decision) == [("search", {"query": 'the "big" one'})]
    assert decision.repaired
    assert decision.calls[0].raw
    assert not executable(decode(dialect, broken, "length"))


def test_a_tool_called_like_an_answer_is_still_a_tool():
    final = ToolSchema("final_answer", "End.", {"type": "object", "properties": {"text": {"type": "string"}}})
    for dialect in NAMES:
        text = '{"name": "final_answer", "arguments": {"text": "done"}}'
        assert executable(decode(dialect, text, tools=(final, SEARCH))) == [("final_answer", {"text": "done"})]


def test_ids_are_made_in_order():
    calls = decode("array", '[{"name": "now", "arguments": {}}, {"name": "now", "arguments": {}}]').calls
    assert [call.id for call in calls] == ["call_0", "call_1"]
    assert TOOLS[2] is NOW
