from __future__ import annotations

import socket
from typing import Any

import pytest

from kit import row
from treadle._tools.validation import check_name, check_schema, checker
from treadle._types.errors import ConfigError, SchemaError


def schema(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def test_the_message_names_the_argument_what_was_expected_and_what_came() -> None:
    for parameters, args, message in (
        (
            schema(count={"type": "integer"}),
            {"count": "three"},
            "argument 'count': expected integer, got string \"three\"",
        ),
        (schema(count={"type": "integer"}), {"count": True}, "argument 'count': expected integer, got boolean true"),
        (schema(count={"type": "integer"}), {"count": None}, "argument 'count': expected integer, got null"),
        (schema(count={"type": "integer"}), {"count": 1.5}, "argument 'count': expected integer, got number 1.5"),
        (
            schema(n={"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            {"n": "x"},
            "argument 'n': expected integer or null, got string \"x\"",
        ),
        (schema(u={"enum": ["C", "F"]}), {"u": "K"}, 'argument \'u\': expected one of "C", "F", got string "K"'),
        (schema(n={"minimum": 1}), {"n": 0}, "argument 'n': expected at least 1, got integer 0"),
        (schema(s={"pattern": "^a"}), {"s": "b"}, 'argument \'s\': expected text that matches "^a", got string "b"'),
        (schema(s={"maxLength": 2}), {"s": "abc"}, "argument 's': expected at most 2 characters, got string \"abc\""),
        (schema(("path",), path={}), {}, "argument 'path': missing"),
        (schema(), {"x": 1}, "argument 'x': unknown"),
        (
            schema(
                l={
                    "type": "array",
                    "items": {"type": "object", "required": ["n"], "properties": {"n": {"type": "string"}}},
                }
            ),
            {"l": [{"n": "a"}, {"n": []}]},
            "argument 'l[1].n': expected string, got array []",
        ),
        (
            schema(l={"type": "array", "items": {"type": "object", "required": ["n"]}}),
            {"l": [{}]},
            "argument 'l[0].n': missing",
        ),
    ):
        assert checker(parameters).validate(args) == [message], parameters


def test_valid_arguments_give_no_message() -> None:
    check = checker(schema(("a",), a={"type": "integer"}, b={"type": ["string", "null"]}))
    assert check.validate({"a": 1, "b": None}) == []
    assert check.validate({"a": 1.0}) == []


def test_long_values_are_cut_and_messages_are_few() -> None:
    check = checker(
        schema(
            s={"type": "integer"}, u={"enum": ["x" * 5000] * 3}, **{f"n{i}": {"type": "integer"} for i in range(100)}
        )
    )
    messages = check.validate({"s": "y" * 100_000, "u": "z", **{f"n{i}": "no" for i in range(100)}})
    assert len(messages) <= 8
    assert max(map(len, messages)) < 500
    many = check.validate({f"unknown{i}": i for i in range(10_000)})
    assert many == ["argument 'unknown0', 'unknown1', 'unknown2', 'unknown3', 'unknown4' and 9995 more: unknown"]


def test_what_the_checker_itself_cannot_take_is_a_message_too() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    check = checker(schema(a={"type": "integer"}))
    assert "cannot be validated" in check.validate({"a": deep})[0]
    assert "cannot be validated" in check.validate({"\ud800": 1})[0]
    assert checker(schema(o={"oneOf": [{"type": "integer"}, {"type": "number"}]})).validate({"o": 1}) == [
        "argument 'o': expected exactly one of the allowed forms, got integer 1"
    ]


def test_a_schema_that_refers_to_itself_ends() -> None:
    parameters: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    }
    check_schema(parameters)
    assert checker(parameters).validate({"a": 1}) == []


def test_a_schema_that_cannot_be_checked_is_refused() -> None:
    for parameters, expected in (
        (None, ["'bad'", "dict", "NoneType"]),
        ("{}", ["'bad'", "dict", "str"]),
        ([], ["dict"]),
        ({}, ['"type": "object"']),
        ({"type": "string"}, ['"type": "object"']),
        ({"type": "object", "properties": []}, ['"properties"']),
        (schema(a={"type": "strin"}), ["'bad'", "properties.a.type", "strin", "correct that keyword"]),
        ({"type": "object", "required": "a"}, ["required"]),
        (schema(a={"minimum": "1"}), ["properties.a.minimum"]),
        (schema(a={"pattern": "("}), ["properties.a.pattern"]),
        (schema(a={"$ref": "#/$defs/nowhere"}), ["nowhere", '"$defs"']),
        ({"type": "object", "$schema": "https://example.com/mine"}, ["example.com", "are not fetched"]),
        (schema(a={"default": object()}), ["plain JSON"]),
        (schema(a={"default": {1, 2}}), ["plain JSON"]),
    ):
        with row(parameters, expected):
            with pytest.raises(SchemaError) as caught:
                check_schema(parameters, "bad")
            assert [text for text in expected if text not in str(caught.value)] == []
            with pytest.raises(SchemaError):
                check_schema(parameters, "bad")


def test_nothing_is_fetched_for_a_schema() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/s.json"
        with pytest.raises(SchemaError, match="are not fetched"):
            check_schema(schema(a={"$ref": address}), "remote")
        with pytest.raises(BlockingIOError):  # nobody has connected
            server.accept()


def test_a_schema_is_compiled_once() -> None:
    parameters = schema(a={"type": "integer"})
    assert checker(parameters) is checker(parameters)
    assert checker(parameters).compile() is checker(parameters).compile()
    assert checker(dict(parameters)) is not checker(parameters)


def test_an_unchecked_schema_that_was_used_is_still_checked_at_registration() -> None:
    parameters = schema(a={"type": "strin"})
    assert "cannot be validated" in checker(parameters).validate({"a": 1})[0]
    with pytest.raises(SchemaError):
        check_schema(parameters)


def test_names_that_providers_refuse_are_refused_with_a_suggestion() -> None:
    for name, suggestion in (
        ("my tool!", "my_tool"),
        ("", "my_tool"),
        ("a" * 65, "a" * 64),
        ("größe", "gr_e"),
        ("a\n", "a"),
    ):
        with row(name, suggestion), pytest.raises(ConfigError, match=f"try name='{suggestion}'"):
            check_name(name)


def test_good_names() -> None:
    for name in ("a", "get-weather_2", "A" * 64):
        with row(name):
            check_name(name)
