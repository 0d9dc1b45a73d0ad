"""Data of strangers: bombs end at once and with words."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, json

from kit import row
from treadle._safety import data
from treadle._safety.data import MAX_DEPTH, DataError, decode_json, decode_toml, decode_yaml, read_text


def bomb(levels: int = 9, width: int = 10) -> str:
    lines = ["a0: &a0 [" + ", ".join(["lol"] * width) + "]"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * width) + "]" for n in range(1, levels)]
    return "\n".join(lines)


YAML_BOMBS = {
    "aliases": (bomb(), "more than 50000 values, with what its aliases repeat"),
    "aliases in mappings": (
        "b0: &b0 {x: 1}\n" + "\n".join(f"b{n}: &b{n} {{l: *b{n - 1}, r: *b{n - 1}}}" for n in range(1, 30)),
        "more than 50000 values",
    ),
    "an alias of itself": ("a: &a [1, *a]", "the alias 'a' contains itself"),
    "flow nesting": ("[" * 20_000, "more than 100 lists and mappings inside each other"),
    "block nesting": ("".join(" " * n + "a:\n" for n in range(400)), "more than 100 lists and mappings"),
    "dashes": ("- " * 5_000 + "x", "more than 100 lists and mappings"),
    "a long number": ("1" * 200_000, "a number of more than 100 characters"),
    "a long number in base 60": ("1:" * 100_000 + "1", "a number of more than 100 characters"),
    "a name twice": ("tools: []\nname: x\ntools: [shell]", "the name 'tools' stands twice in one mapping"),
    "too large": ("# " + "x" * 1_100_000, "larger than 1048576 bytes"),
    "a date that is none": ("a: 2026-99-99", "month must be in 1..12"),
    "objects of Python": ("a: !!python/object/apply:os.system [id]", "could not determine a constructor"),
    "control characters": ("a: \x01", "special characters are not allowed"),
    "a list as a name": ("? [a]\n: b", "unhashable key"),
    "two documents": ("a: 1\n---\nb: 2", "expected a single document"),
}


def test_yaml_that_would_explode_is_refused_at_once():
    before = time.thread_time()
    for name, (text, message) in YAML_BOMBS.items():
        with row(name), pytest.raises(DataError, match=message):
            decode_yaml(text)
    assert time.thread_time() - before < 50  # of its own work; one that is not refused takes minutes or all memory


def test_ordinary_aliases_and_merges_are_read():
    text = "base: &base {a: 1, b: 2}\none: {<<: *base, b: 3}\ntwo: *base\nlist: [0x10, 1_000, 1.5, .inf, 2026-01-02]"
    value = decode_yaml(text)
    assert (value["one"], value["two"]) == ({"a": 1, "b": 3}, {"a": 1, "b": 2})
    assert value["list"][:4] == [16, 1000, 1.5, float("inf")]


def test_depth_and_size_up_to_the_limit_are_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(data, "MAX_NODES", 1_000)
    text = "[" * (MAX_DEPTH - 1) + "1" + "]" * (MAX_DEPTH - 1)
    assert decode_yaml(text) == decode_json(text) == decode_toml(f"a = {text}")["a"]
    assert len(decode_yaml("[" + "a," * 999 + "]")) == 999
    with pytest.raises(DataError, match="more than 1000 values"):
        decode_yaml("[" + "a," * 1_000 + "]")


JSON_BOMBS = {
    "lists": ("[" * 100_000 + "]" * 100_000, "line 1: more than 100 lists and objects inside each other"),
    "objects": ('{"a":' * 100_000, "more than 100 lists and objects inside each other"),
    "a name twice": ('{"tools": [],\n "tools": ["shell"]}', "the name 'tools' stands twice in one object"),
    "a name twice, written in two ways": (r'{"a": {"tools": 1, "tool\u0073": 2}}', "the name 'tools' stands twice"),
    "a long number": ("9" * 100_000, "out of range"),
    "a number beyond all": ("1e999", "out of range"),
    "not a number": ("[NaN]", "malformed"),
    "half a character": (r'"\ud800"', "truncated|surrogate"),
    "nothing": ("", "truncated"),
    "quotes that never end": ('"' + r"\"" * 200_000, "truncated"),
}


def test_json_that_would_explode_is_refused_at_once():
    before = time.thread_time()
    for name, (text, message) in JSON_BOMBS.items():
        with row(name):
            with pytest.raises(DataError, match=message):
                decode_json(text)
            with pytest.raises(DataError):
                decode_json(text.encode())
    assert time.thread_time() - before < 10


def test_json_of_a_kind():
    class Point(Struct):
        x: int

    assert decode_json(b'{"x": 1}', Point) == Point(1)
    with pytest.raises(DataError, match=r"Expected `int`, got `str` - at `\$.x`"):
        decode_json('{"x": "1"}', Point)
    with pytest.raises(DataError, match="utf-8"):
        decode_json(b'{"x": "\xff"}', Point)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(values)
def test_what_was_written_is_read_again(value: Any):
    text = json.encode(value)
    assert decode_json(text) == json.decode(text)


TOML_BOMBS = {
    "lists": ("a = " + "[" * 5_000 + "]" * 5_000, "more than 100 lists and tables inside each other"),
    "dots": (".".join(["a"] * 300) + " = 1", "more than 100 lists and tables inside each other"),
    "a long number": ("a = " + "1" * 100_000, "limit"),
    "a name twice": ("a = 1\na = 2", "overwrite"),
}


def test_toml_that_would_explode_is_refused():
    for name, (text, message) in TOML_BOMBS.items():
        with row(name), pytest.raises(DataError, match=message):
            decode_toml(text)


def test_no_more_of_a_file_is_read_than_allowed(tmp_path: Path):
    (tmp_path / "big").write_bytes(b"x" * 11)
    with pytest.raises(DataError, match="larger than 10 bytes"):
        read_text(tmp_path / "big", 10)
    with pytest.raises(DataError, match="larger than 10 bytes"):
        read_text(Path("/dev/zero"), 10)
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    with pytest.raises(DataError, match=r"it is not UTF-8: .* at byte 3"):
        read_text(tmp_path / "latin")
    (tmp_path / "mark").write_bytes(b"\xef\xbb\xbf{}")
    assert read_text(tmp_path / "mark") == "{}"
