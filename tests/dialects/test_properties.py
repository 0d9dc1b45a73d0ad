"""What holds for any call and any text: writing and reading agree, nothing half-written runs, nothing crashes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dialects.samples import (
    ARGS,
    CALL,
    MARKUP,
    NAMES,
    READERS,
    SHAPES,
    SLIPS,
    TEXT_NAMES,
    THOUGHTLESS,
    TOOLS,
    decode,
    executable,
)
from kit import row
from treadle._dialects.base import Decision
from treadle._dialects.reading.extract import extract_json
from treadle._dialects.reading.lenient import LenientParser
from treadle._dialects.registry import get_dialect
from treadle._dialects.text import TextDialect
from treadle._types.messages import ToolCall
from treadle._types.request import RawCall, Reply, ToolSchema

TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
NASTY = st.sampled_from(
    [
        "<tool_call>",
        "</think>",
        "```",
        "Action:",
        "{",
        "}}",
        '"',
        "'",
        "\\",
        "<__final_answer__>",
        "Observation:",
        "[TOOL_CALLS]",
        "<|channel|>",
        "\n",
        "//",
        "</result>",
    ]
)
WORDS = st.lists(TEXT | NASTY, max_size=5).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(WORDS, VALUES, max_size=4)
PLAIN = st.text("abc xyz,.", max_size=40).map(str.strip)
NAME = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True)
EACH = 7
"""One place of so many is cut: as many examples more show more than all the places of a few."""
PROFILE = settings(max_examples=25, deadline=None)


def free(name: str) -> ToolSchema:
    return ToolSchema(name, "", {"type": "object"})


@PROFILE
@given(value=VALUES)
def test_the_lenient_reader_reads_valid_json_as_it_is(value: Any):
    text = msgspec.json.encode([value]).decode()
    parsed = LenientParser(text).parse(0)
    assert parsed.closed
    assert parsed.end == len(text)
    assert parsed.value == msgspec.json.decode(text)


@PROFILE
@given(value=VALUES)
def test_valid_json_passes_unchanged(value: Any):
    text = msgspec.json.encode({"value": value}).decode()
    assert extract_json(text) == (msgspec.json.decode(text), "strict")


@pytest.mark.parametrize("name", TEXT_NAMES)
@PROFILE
@given(calls=st.lists(st.tuples(NAME, ARGUMENTS), min_size=1, max_size=3), thought=PLAIN)
@example(calls=[("a", {"\\": None, "0</think>": None})], thought="")
def test_a_written_call_is_read_back(name: str, calls: list[tuple[str, dict[str, Any]]], thought: str):
    dialect = get_dialect(name)
    assert isinstance(dialect, TextDialect)
    expected = tuple(ToolCall(f"call_{index}", tool, args) for index, (tool, args) in enumerate(calls))
    decision = dialect.decode(
        Reply(text=dialect.write(Decision(thought, expected))), [free(tool) for tool in {tool for tool, _ in calls}]
    )
    assert decision.calls == expected
    assert not decision.repaired
    if name not in THOUGHTLESS:
        assert decision.thought == thought


@PROFILE
@given(calls=st.lists(st.tuples(NAME, ARGUMENTS), min_size=1, max_size=3))
def test_a_native_call_is_read_back(calls: list[tuple[str, dict[str, Any]]]):
    raw = tuple(
        RawCall(f"id{index}", tool, msgspec.json.encode(args).decode()) for index, (tool, args) in enumerate(calls)
    )
    decision = get_dialect("native").decode(Reply(calls=raw, finish="calls"), [free(tool) for tool, _ in calls])
    assert executable(decision) == calls
    assert [call.id for call in decision.calls] == [call.id for call in raw]


@pytest.mark.parametrize("name", TEXT_NAMES)
@PROFILE
@given(answer=WORDS.map(str.strip).filter(bool), thought=PLAIN)
def test_a_written_answer_is_read_back(name: str, answer: str, thought: str):
    dialect = get_dialect(name)
    assert isinstance(dialect, TextDialect)
    if name == "action" and ("final_answer" in answer or "think>" in answer):
        return  # such tags in plain text mean what they say: this dialect has no escape for them
    decision = dialect.decode(Reply(text=dialect.write(Decision(thought, answer=answer))), TOOLS)
    assert decision.answer == answer
    assert decision.calls == ()


@pytest.mark.parametrize("name", TEXT_NAMES)
@settings(max_examples=12, deadline=None)
@given(calls=st.lists(st.tuples(NAME, ARGUMENTS), min_size=1, max_size=2), first=st.integers(0, EACH - 1))
def test_a_reply_cut_anywhere_runs_only_complete_calls(name: str, calls: list[tuple[str, dict[str, Any]]], first: int):
    dialect = get_dialect(name)
    assert isinstance(dialect, TextDialect)
    text = dialect.write(Decision("hm", tuple(ToolCall("", tool, args) for tool, args in calls)))
    tools = [free(tool) for tool in {tool for tool, _ in calls}]
    for end in range(first, len(text), EACH):
        decision = dialect.decode(Reply(text=text[:end], finish="length"), tools)
        assert executable(decision) == calls[: len(executable(decision))]


@settings(max_examples=15, deadline=None)
@given(args=ARGUMENTS)
def test_native_arguments_cut_anywhere_never_run(args: dict[str, Any]):
    text = msgspec.json.encode(args).decode()
    for end in range(len(text)):
        reply = Reply(calls=(RawCall("a", "f", text[:end]),), finish="length")
        (call,) = get_dialect("native").decode(reply, [free("f")]).calls
        assert call.problem
        assert call.args == {}


def test_no_prefix_runs_a_truncated_call():
    """Each text is cut at each place, and read in the dialects in turn."""
    for start, name in enumerate(NAMES):
        for text in (*SHAPES.values(), *SLIPS.values(), *MARKUP.values()):
            for end in range(start % 3, len(text), 3):
                assert executable(decode(name, text[:end], "length")) in ([], CALL), (name, text[:end])


MUTATIONS = st.lists(
    st.tuples(
        st.integers(0, 400), st.sampled_from(["drop", "double", "put"]), st.sampled_from(list("{}[]\"',:\\<>|`\n x1"))
    ),
    max_size=6,
)
SAMPLES = st.sampled_from(
    [*SHAPES.values(), *SLIPS.values(), *MARKUP.values(), f"Thought: hm\nAction: search\nAction Input: {ARGS}"]
)


def mutate(text: str, changes: list[tuple[int, str, str]]) -> str:
    for index, change, char in changes:
        at = index % (len(text) + 1)
        text = (
            text[:at]
            + {"drop": "", "double": text[at : at + 1] * 2, "put": char}[change]
            + text[at + (change != "put") :]
        )
    return text


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=60, deadline=None)
@given(text=SAMPLES, changes=MUTATIONS, end=st.integers(0, 400))
def test_mutations_never_crash_and_never_run_what_was_cut(
    name: str, text: str, changes: list[tuple[int, str, str]], end: int
):
    mutated = mutate(text, changes)
    decode(name, mutated)
    cut = mutated[:end]
    ran = executable(decode(name, cut, "length"))
    # A call that runs does not depend on where the text ended: more text behind it never changes its arguments.
    assert ran == executable(decode(name, cut + "§", "length")) or not executable(decode(name, cut + "§", "length"))


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=30, deadline=None)
@given(text=WORDS)
def test_any_text_gives_a_decision(name: str, text: str):
    for finish in ("stop", "length"):
        decision = decode(name, text, finish)
        assert decision == decode(name, text, finish)
        assert decision.calls or decision.answer is not None or decision.problem
        msgspec.json.encode(decision)


def test_lone_surrogates_do_no_harm():
    for name in NAMES:
        with row(name):
            for text in (
                "\ud800",
                '{"name": "search", "arguments": {"query": "\ud800"}}',
                '{"name": "search", "arguments": {"query": "\\ud800"}}',
            ):
                msgspec.json.encode(decode(name, text))
