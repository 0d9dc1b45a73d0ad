"""Which dialect is chosen, and what it asks of the provider."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from dialects.samples import ADD, ARGS, NAMES, SEARCH, TOOLS, decode
from treadle._dialects.registry import choose_dialect, get_dialect
from treadle._dialects.base import Encoding
from treadle._types.errors import ConfigError
from treadle._types.profile import Profile
from treadle._types.request import ToolSchema

SCHEMA = Profile(json_schema=True)
GRAMMAR = Profile(json_schema=True, grammar=True)
CALL = {
    "json": f'{{"reasoning": "", "type": "tool_call", "tool_name": "search", "tool_args": {ARGS}}}',
    "schema": f'{{"thought": "", "action": "search", "args": {ARGS}}}',
    "direct": f'{{"action": "search", "args": {ARGS}}}',
    "brief": f'{{"from": "tool", "action": "search", "args": {ARGS}}}',
    "array": f'[{{"name": "search", "arguments": {ARGS}}}]',
}
ANSWER = {
    "json": '{"reasoning": "", "type": "final_answer", "answer": "Paris"}',
    "schema": '{"thought": "", "action": "final_answer", "final_answer": "Paris", "task_successful": true}',
    "direct": '{"action": "final_answer", "final_answer": "Paris", "task_successful": true}',
    "brief": '{"from": "common knowledge", "final_answer": "Paris"}',
    "array": '[{"name": "__complete_task__", "arguments": {"answer": "Paris"}}]',
}


def fits(encoding: Encoding, text: str) -> bool:
    import json

    assert encoding.format is not None
    assert encoding.format.kind == "schema"
    assert encoding.format.schema is not None
    return jsonschema_rs.is_valid(encoding.format.schema, json.loads(text))


@pytest.mark.parametrize("name", NAMES)
def test_every_dialect_can_be_had_and_is_stateless(name: str):
    dialect = get_dialect(name)
    assert dialect.name == name
    assert dialect.native == (name == "native")
    assert dialect == get_dialect(name)
    with pytest.raises(AttributeError):
        dialect.name = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_an_unknown_dialect_names_the_known_ones():
    with pytest.raises(ConfigError, match="native, json, action, array, schema"):
        get_dialect("xml")
    with pytest.raises(ConfigError, match="options"):
        get_dialect("json", completion="x")


@pytest.mark.parametrize(
    ("setting", "profile", "allow_native", "want"),
    [
        ("json", Profile(tool_call=True), True, "json"),
        ("native", Profile(), True, "native"),
        ("auto", Profile(tool_call=True, json_schema=True), True, "native"),
        ("auto", Profile(tool_call=True, json_schema=True), False, "schema"),
        ("auto", Profile(json_schema=True), True, "schema"),
        ("auto", Profile(grammar=True), True, "direct"),
        ("auto", Profile(dialect="schema", grammar=True), True, "direct"),
        ("auto", Profile(grammar=True, tiny=True), True, "brief"),
        ("auto", Profile(dialect="schema", tiny=True), True, "brief"),
        ("schema", Profile(grammar=True, tiny=True), True, "schema"),
        ("auto", Profile(tiny=True), True, "json"),
        ("auto", Profile(json_mode=True), True, "json"),
        ("auto", Profile(), True, "json"),
        ("auto", Profile(tool_call=True, dialect="schema"), True, "schema"),
        ("auto", Profile(dialect="native"), True, "native"),
        ("auto", Profile(dialect="native", tool_call=True), False, "json"),
        ("auto:json", Profile(tool_call=True, json_schema=True), True, "native"),
        ("auto:json", Profile(tool_call=True, json_schema=True), False, "json"),
        ("auto:json", Profile(json_schema=True), True, "json"),
        ("auto:json", Profile(tool_call=True, dialect="schema"), True, "json"),
        ("auto:action", Profile(), True, "action"),
    ],
)
def test_choice(setting: str, profile: Profile, allow_native: bool, want: str):
    assert choose_dialect(setting, profile, allow_native).name == want


def test_a_bad_setting_is_an_error():
    for setting in ("", "best", "auto:best"):
        with pytest.raises(ConfigError):
            choose_dialect(setting, Profile())


@pytest.mark.parametrize("name", ["json", "schema", "array", "direct", "brief"])
def test_the_constraint_allows_what_the_dialect_reads_and_nothing_else(name: str):
    encoding = get_dialect(name).encode(TOOLS, GRAMMAR)
    assert encoding.tools == ()
    assert fits(encoding, CALL[name])
    assert fits(encoding, ANSWER[name])
    assert decode(name, CALL[name]).calls
    assert decode(name, ANSWER[name]).answer == "Paris"
    for bad in (
        "{}",
        "[]",
        CALL[name].replace("search", "fly"),
        CALL[name].replace('"limit": 3', '"limit": "three"'),
        CALL[name].replace('"limit"', '"colour"'),
    ):
        assert not fits(encoding, bad), bad


@pytest.mark.parametrize("name", ["json", "schema", "array", "direct", "brief"])
def test_must_answer_leaves_only_the_answer(name: str):
    encoding = get_dialect(name).encode(TOOLS, GRAMMAR, must_answer=True)
    assert fits(encoding, ANSWER[name])
    assert not fits(encoding, CALL[name])


@pytest.mark.parametrize("name", ["json", "schema"])
def test_the_model_thinks_first(name: str):
    encoding = get_dialect(name).encode((SEARCH,), SCHEMA)
    assert encoding.format is not None
    assert encoding.format.schema is not None
    assert encoding.format.schema["type"] == "object"
    for alternative in encoding.format.schema["anyOf"]:
        assert next(iter(alternative["properties"])) in ("thought", "reasoning")
        assert alternative["required"] == list(alternative["properties"])


def test_array_is_wrapped_where_the_root_must_be_an_object():
    encoding = get_dialect("array").encode(TOOLS, SCHEMA)
    assert fits(encoding, f'{{"calls": {CALL["array"]}}}')
    assert decode("array", f'{{"calls": {CALL["array"]}}}').calls
    assert decode("array", f'{{"calls": {ANSWER["array"]}}}').answer == "Paris"
    assert get_dialect("array").encode(TOOLS, Profile(json_mode=True)).format is None


def test_less_able_models_get_less():
    for name in ("json", "schema"):
        asked = get_dialect(name).encode(TOOLS, Profile(json_mode=True)).format
        assert asked is not None
        assert (asked.kind, asked.schema) == ("json", None)
        assert get_dialect(name).encode(TOOLS, Profile()).format is None
    assert get_dialect("action").encode(TOOLS, SCHEMA).format is None


def test_definitions_of_several_tools_do_not_collide():
    def tool(name: str, kind: str) -> ToolSchema:
        parameters: dict[str, Any] = {
            "type": "object",
            "properties": {"item": {"$ref": "#/$defs/Item"}},
            "required": ["item"],
            "$defs": {
                "Item": {
                    "type": "object",
                    "properties": {"v": {"type": kind}, "next": {"$ref": "#/$defs/Item"}},
                    "required": ["v"],
                }
            },
        }
        return ToolSchema(name, "", parameters)

    tools = (tool("one", "integer"), tool("two", "string"))
    for name in ("schema", "array"):
        for profile in (SCHEMA, GRAMMAR):
            encoding = get_dialect(name).encode(tools, profile)
            form = (
                '{"thought": "", "action": "%s", "args": %s}'
                if name == "schema"
                else '[{"name": "%s", "arguments": %s}]'
            )
            if name == "array" and not profile.grammar:
                form = f'{{"calls": {form}}}'
            assert fits(encoding, form % ("one", '{"item": {"v": 1, "next": {"v": 2}}}'))
            assert fits(encoding, form % ("two", '{"item": {"v": "a"}}'))
            assert not fits(encoding, form % ("two", '{"item": {"v": 1}}'))
    assert tools[0].parameters["properties"] == {"item": {"$ref": "#/$defs/Item"}}


def test_the_action_grammar_names_the_tools():
    encoding = get_dialect("action").encode((SEARCH, ADD), GRAMMAR)
    assert encoding.format is not None
    assert encoding.format.kind == "grammar"
    assert '"\\"search\\"" | "\\"add\\""' in encoding.format.grammar
    forced = get_dialect("action").encode((SEARCH,), GRAMMAR, must_answer=True).format
    assert forced is not None
    assert "search" not in forced.grammar
    assert "__final_answer__" in forced.grammar
