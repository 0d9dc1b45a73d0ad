"""The stages of tolerant reading, one by one, and the time they take."""

from __future__ import annotations

import time
from typing import Any

import pytest

from dialects.samples import NAMES, SEARCH, TOOLS, decode
from treadle._dialects.registry import get_dialect
from treadle._dialects.reading.coerce import coerce
from treadle._dialects.reading.lenient import LenientParser
from treadle._dialects.reading.parsed import UnreadableJson
from treadle._dialects.reading.extract import extract_json
from treadle._dialects.reading.thinking import split_thinking
from treadle._types.request import RawCall, Reply


@pytest.mark.parametrize(
    ("text", "value", "how"),
    [
        ('{"a": 1}', {"a": 1}, "strict"),
        (" [1, 2]\n", [1, 2], "strict"),
        ("42", 42, "strict"),
        ("null", None, "strict"),
        ('"{\\"a\\": 1}"', {"a": 1}, "strict"),
        ('```json\n{"a": 1}\n```', {"a": 1}, "lenient"),
        ('Sure! {"a": 1} Bye.', {"a": 1}, "lenient"),
        ('See [1] and {x}: {"a": 1}', {"a": 1}, "lenient"),
        ('<think>{"b": 2}</think>{"a": 1}', {"a": 1}, "lenient"),
        ('{"a": 1} {"b": 2}', {"a": 1}, "lenient"),
        ("{'a': True, b: None, /* c */ 'd': (1, 2),}", {"a": True, "b": None, "d": [1, 2]}, "lenient"),
        ('{"a": "it\\\'s\\d", "b": "x\ny"}', {"a": "it's\\d", "b": "x\ny"}, "lenient"),
        (
            '{"a": "\\ud83d\\ude00 \\ud800 \\x41", "n": 1_000, "f": .5, "g": 1.,}',
            {"a": "😀 \ufffd A", "n": 1000, "f": 0.5, "g": 1.0},
            "lenient",
        ),
        ("['a', [1], {'b': 2}]", ["a", [1], {"b": 2}], "lenient"),
        ('{"a": [1, {"b": 2}', {"a": [1, {"b": 2}]}, "repaired"),
        ('{"a": "say "hi" now", "b": 2}', {"a": 'say "hi" now', "b": 2}, "repaired"),
    ],
)
def test_extract_json(text: str, value: Any, how: str):
    assert extract_json(text) == (value, how)


@pytest.mark.parametrize("text", ["", "no JSON", "{city}", "{", '{"a": "cut', '{"a": 12', '{"a": [1,', "<think>{}"])
def test_extract_json_raises_when_there_is_none(text: str):
    with pytest.raises(ValueError, match="JSON"):
        extract_json(text)


def test_extract_json_closes_nothing_that_was_cut():
    assert extract_json('{"a": [1]') == ({"a": [1]}, "repaired")
    with pytest.raises(ValueError, match="cut off"):
        extract_json('{"a": [1]', cut=True)


@pytest.mark.parametrize(
    ("text", "thinking", "rest"),
    [
        ("plain", "", "plain"),
        ("<think>a</think>b", "a", "b"),
        ("<think>a</think>\n<think>c</think> b", "a\nc", "b"),
        ("<think>a", "a", ""),
        ("<think>a<tool_call>{}", "a", "<tool_call>{}"),
        ("a</think>b", "a", "b"),
        ("<thinking>a</thinking>b", "a", "b"),
        ("[THINK]a[/THINK]b", "a", "b"),
        ("Use <think>x</think> tags", "", "Use <think>x</think> tags"),
        ("the tag `</think>` ends it", "", "the tag `</think>` ends it"),
        ('{"a": "</think>"} x', "", '{"a": "</think>"} x'),
        ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>", "a", "b"),
        ("done<|im_end|>\n", "", "done"),
    ],
)
def test_split_thinking(text: str, thinking: str, rest: str):
    assert split_thinking(text) == (thinking, rest)


def test_the_lenient_reader_says_what_is_open():
    unclosed = LenientParser('{"a": {"b": 1}').parse(0)
    assert unclosed.value == {"a": {"b": 1}}
    assert unclosed.all_values
    assert id(unclosed.value) in unclosed.open
    assert id(unclosed.value["a"]) not in unclosed.open
    for text in ('{"a": "x', '{"a": 1', '{"a": tru', '{"a": 1,', '{"a":', '{"a"', "{", '{"a": {', '{"a": "\\'):
        parsed = LenientParser(text).parse(0)
        assert not parsed.all_values, text
        assert parsed.value in ({}, {"a": 1}, {"a": {}}), text
    assert LenientParser('{"a": "half').parse(0).partial == ("a", "half")
    for text in ("{a}", "[x]", '{"a" 1}', '{"a": 1 "b": 2}', "{]", '{"a": 1e999}', "{" * 70, '{"a": NaN}'):
        with pytest.raises(UnreadableJson):
            LenientParser(text).parse(0)


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "x": {"type": "number"},
        "on": {"type": "boolean"},
        "text": {"type": "string"},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "either": {"type": ["string", "integer"]},
        "tags": {"type": "array", "items": {"type": "integer"}},
        "place": {"$ref": "#/$defs/Place"},
        "unit": {"enum": ["celsius", "Kelvin"]},
        "free": {},
    },
    "$defs": {"Place": {"type": "object", "properties": {"lat": {"type": "number"}}}},
}


@pytest.mark.parametrize(
    ("key", "given", "want"),
    [
        ("n", "3", 3), ("n", " 3 ", 3), ("n", 3.0, 3), ("n", "3.0", 3), ("n", "three", "three"), ("n", [3], 3),
        ("n", True, True), ("n", "1" * 400, "1" * 400),
        ("x", "1.5", 1.5), ("x", "2", 2), ("x", 2, 2), ("x", "1e999", "1e999"),
        ("on", "true", True), ("on", "False", False), ("on", "yes", "yes"), ("on", 1, 1),
        ("text", "3", "3"), ("text", 3, "3"), ("text", True, "true"), ("text", {"a": 1}, '{"a":1}'),
        ("text", "true", "true"), ("text", None, None),
        ("maybe", "null", None), ("maybe", "4", 4), ("maybe", None, None), ("either", "4", "4"), ("either", 4, 4),
        ("tags", "[1, 2]", [1, 2]), ("tags", ["1", 2], [1, 2]), ("tags", 5, [5]), ("tags", "5", [5]), ("tags", "['1']", [1]),
        ("place", '{"lat": "1.5"}', {"lat": 1.5}), ("place", {"lat": "2"}, {"lat": 2}), ("place", '{\\"lat\\": 1}', {"lat": 1}),
        ("unit", "Celsius", "celsius"), ("unit", "kelvin", "Kelvin"), ("unit", "rankine", "rankine"),
        ("free", "3", "3"), ("unknown", "3", "3"),
    ],
)  # fmt: skip
def test_coerce(key: str, given: Any, want: Any):
    result = coerce({key: given}, SCHEMA)[key]
    assert result == want
    assert type(result) is type(want)


def test_coerce_leaves_what_already_fits():
    args = {"n": 1, "x": 2.5, "on": True, "text": "t", "tags": [1], "place": {"lat": 1.0}, "extra": [1]}
    assert coerce(args, SCHEMA) == args
    recursive = {"type": "object", "properties": {"self": {"$ref": "#"}}}
    assert coerce({"self": {"self": {}}}, recursive) == {"self": {"self": {}}}


SIZE = 100_000
HOSTILE = {
    "braces": "{" * SIZE,
    "brackets": "[" * SIZE,
    "closed braces": "{" * (SIZE // 2) + "}" * (SIZE // 2),
    "closed brackets": "[" * (SIZE // 2) + "]" * (SIZE // 2),
    "keys": '{"a":' * (SIZE // 5),
    "calls": '{"name":"search","arguments":' * (SIZE // 29),
    "whole calls": '{"name":"search","arguments":{"query":"x"}}' * (SIZE // 43),
    "quotes": '{"' + '"' * SIZE,
    "prose": "{ x } " * (SIZE // 6),
    "spaces": "{" + " " * SIZE + "x",
    "lines": "\n" * SIZE + "x",
    "backslashes": '{"a":"' + "\\" * SIZE,
    "digits": '{"a":' + "1" * SIZE + "}",
    "comments": "{" + "/**/" * (SIZE // 4),
    "tool_call": "<tool_call>" * (SIZE // 11),
    "tool_call json": '<tool_call>{"name":' * (SIZE // 19),
    "functions": "<function=search>" * (SIZE // 17),
    "open parameters": "<function=search>" + "<parameter=query>" * (SIZE // 17),
    "parameters": "<function=search>" + "<parameter=query>x</parameter>" * (SIZE // 30),
    "slots": "<|tool_call_begin|>search<|tool_sep|>{" * (SIZE // 38),
    "channels": "<|channel|>a to=b<|message|>{" * (SIZE // 29),
    "think": "<think></think>" * (SIZE // 15),
    "open think": "<think>" * (SIZE // 7),
    "fences": '```json\n{"a":1\n' * (SIZE // 15),
    "actions": "Action: {" * (SIZE // 9),
    "observations": "Observation:\n" * (SIZE // 13),
    "python": "[search(query=" * (SIZE // 14),
    "markers": '{"a":1}<__final_answer__>' * (SIZE // 25),
    "angles": "<a" * (SIZE // 2),
    "wide": "<｜a｜" * (SIZE // 4),  # noqa: RUF001
    "many arguments": "{'name': 'search', 'arguments': {" + ",".join(f"'k{i}': {i}" for i in range(6000)) + "}}",
    "repair": '{"name": "search", "arguments": {"query": "say "hi" ' + 'x"y" ' * 1400 + '"}}',
    "repair keys": '{"name": "search", ' + '"a" "b" ' * 900 + "}",
    "repair nests": '{"a" ' + '[{"b" ' * 14 + "}]" * 14 + "}",
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.no_cover  # its time is measured
def test_hostile_text_is_read_in_bounded_time(kind: str):
    text = HOSTILE[kind]
    get_dialect("native").decode(Reply(text='{"a": "b" c}'), TOOLS)  # what is imported when first used
    for name, finish in (*((name, "stop") for name in NAMES), ("json", "length")):
        start = time.process_time()
        decision = decode(name, text, finish)
        assert time.process_time() - start < 0.2
        assert len(decision.calls) <= 256
    start = time.process_time()
    get_dialect("native").decode(Reply(calls=(RawCall("a", "search", text),)), (SEARCH,))
    assert time.process_time() - start < 0.2
