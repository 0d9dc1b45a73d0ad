"""Arguments converted to the types of their schema."""

from __future__ import annotations

from typing import Any

from kit import row
from treadle._dialects.reading.coerce import coerce

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


def test_coerce():
    for key, given, want in [
        ("n", "3", 3),
        ("n", " 3 ", 3),
        ("n", 3.0, 3),
        ("n", "3.0", 3),
        ("n", "three", "three"),
        ("n", [3], 3),
        ("n", True, True),
        ("n", "1" * 400, "1" * 400),
        ("x", "1.5", 1.5),
        ("x", "2", 2),
        ("x", 2, 2),
        ("x", "1e999", "1e999"),
        ("on", "true", True),
        ("on", "False", False),
        ("on", "yes", "yes"),
        ("on", 1, 1),
        ("text", "3", "3"),
        ("text", 3, "3"),
        ("text", True, "true"),
        ("text", {"a": 1}, '{"a":1}'),
        ("text", "true", "true"),
        ("text", None, None),
        ("maybe", "null", None),
        ("maybe", "4", 4),
        ("maybe", None, None),
        ("either", "4", "4"),
        ("either", 4, 4),
        ("tags", "[1, 2]", [1, 2]),
        ("tags", ["1", 2], [1, 2]),
        ("tags", 5, [5]),
        ("tags", "5", [5]),
        ("tags", "['1']", [1]),
        ("place", '{"lat": "1.5"}', {"lat": 1.5}),
        ("place", {"lat": "2"}, {"lat": 2}),
        ("place", '{\\"lat\\": 1}', {"lat": 1}),
        ("unit", "Celsius", "celsius"),
        ("unit", "kelvin", "Kelvin"),
        ("unit", "rankine", "rankine"),
        ("free", "3", "3"),
        ("unknown", "3", "3"),
    ]:
        with row(key, given, want):
            result = coerce({key: given}, SCHEMA)[key]
            assert result == want
            assert type(result) is type(want)


def test_coerce_leaves_what_already_fits():
    args = {"n": 1, "x": 2.5, "on": True, "text": "t", "tags": [1], "place": {"lat": 1.0}, "extra": [1]}
    assert coerce(args, SCHEMA) == args
    recursive = {"type": "object", "properties": {"self": {"$ref": "#"}}}
    assert coerce({"self": {"self": {}}}, recursive) == {"self": {"self": {}}}
