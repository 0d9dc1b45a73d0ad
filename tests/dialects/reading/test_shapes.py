"""Every common way to write a call is read under every dialect; other JSON is not a call."""

from __future__ import annotations

from itertools import product

from dialects.samples import ADD, CALL, NAMES, SEARCH, SHAPES, TEXT_NAMES, TOOLS, decode, executable
from kit import row
from treadle._dialects.reading.parsed import COMPLETE, PythonCall
from treadle._dialects.reading.reply import by_name
from treadle._dialects.reading.shapes import answer_in, arguments, parameter_schema, properties_of, python_calls
from treadle._types.request import ToolSchema


def test_shape():
    for dialect, shape in product(NAMES, SHAPES):
        with row(dialect, shape):
            assert executable(decode(dialect, SHAPES[shape])) == CALL


def test_shape_after_prose():
    for dialect, shape in product(TEXT_NAMES, [shape for shape in SHAPES if shape != "encoded whole"]):
        with row(dialect, shape):
            text = (
                f"First I look it up.\nAction: {SHAPES[shape]}"
                if dialect == "action"
                else f"First I look it up.\n{SHAPES[shape]}"
            )
            assert executable(decode(dialect, text)) == CALL


def test_an_unknown_tool_is_a_call_only_if_explicit():
    for dialect in TEXT_NAMES:
        with row(dialect):
            prefix = "Action: " if dialect == "action" else ""
            assert executable(decode(dialect, prefix + '{"name": "fly", "arguments": {"to": "Rome"}}')) == [
                ("fly", {"to": "Rome"})
            ]
            assert decode(dialect, '{"name": "fly"}').calls == ()
            assert decode(dialect, '{"fly": {"to": "Rome"}}').calls == ()
            assert decode(dialect, '{"name": "Ann", "age": 7}').calls == ()


def test_native_reads_tools_that_are_not_there_only_from_the_form_of_a_call():
    text = '{"name": "fly", "arguments": {"to": "Rome"}}'
    assert executable(decode("native", text)) == [("fly", {"to": "Rome"})]
    for shown in (text.replace("arguments", "args"), text.replace("}}", '}, "seats": 2}')):
        assert decode("native", shown).answer == shown
    assert executable(decode("native", f"<tool_call>{text}</tool_call>")) == [("fly", {"to": "Rome"})]


def test_a_call_without_arguments():
    for dialect in NAMES:
        with row(dialect):
            for text in (
                '{"name": "now", "arguments": {}}',
                '{"name": "now", "arguments": null}',
                '{"name": "now"}',
                '{"now": {}}',
                "<tool_call>now</tool_call>",
            ):
                assert executable(decode(dialect, text)) == [("now", {})], text


def test_a_bare_value_goes_to_the_only_parameter():
    for dialect in NAMES:
        with row(dialect):
            assert executable(decode(dialect, '{"action": "search", "action_input": "red pandas"}')) == [
                ("search", {"query": "red pandas"})
            ]
            assert not executable(decode(dialect, '{"action": "add", "action_input": "1 and 2"}', tools=(ADD,)))


def test_an_echo_of_the_description_is_not_a_call():
    for dialect in NAMES:
        with row(dialect):
            schema = '{"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}'
            assert not executable(decode(dialect, f'{{"name": "search", "parameters": {schema}}}'))
            filled = '{"name": "search", "parameters": {"type": "object", "properties": {"query": "red pandas"}}}'
            assert executable(decode(dialect, filled)) == [("search", {"query": "red pandas"})]


def test_a_tool_called_like_an_answer_is_still_a_tool():
    final = ToolSchema("final_answer", "End.", {"type": "object", "properties": {"text": {"type": "string"}}})
    for dialect in NAMES:
        text = '{"name": "final_answer", "arguments": {"text": "done"}}'
        assert executable(decode(dialect, text, tools=(final, SEARCH))) == [("final_answer", {"text": "done"})]


ANY = ToolSchema("any", "", {"type": "object"})


def test_wrapped_calls_are_found_only_so_deep():
    call = '{"name": "now", "arguments": {}}'
    for _ in range(4):
        call = f'{{"call": {call}}}'
    assert executable(decode("json", call)) == [("now", {})]
    assert decode("json", f'{{"call": {call}}}').calls == ()


def test_arguments_as_text_are_decoded_or_left():
    assert arguments('{"a": 1}', ANY) == ({"a": 1}, "")
    assert arguments("{'a': 1}", ANY) == ({"a": 1}, "")
    assert arguments("null", ANY) == ({}, "")
    fields, problem = arguments("{broken", ANY)
    assert fields == {}
    assert "must be a JSON object" in problem
    assert arguments("{broken", SEARCH) == ({"query": "{broken"}, ""), "the only required parameter takes any text"
    assert arguments({"arguments": '{"query": "x"}'}, SEARCH) == ({"query": "x"}, "")


def test_python_arguments_go_to_parameters_in_order():
    calls = python_calls([PythonCall("add", [1, 2], {}), PythonCall("add", [1, 2, 3], {})], by_name(TOOLS), COMPLETE)
    assert [(call.args, call.problem) for call in calls] == [({"a": 1, "b": 2}, ""), ({}, "give each argument by name")]


def test_the_schema_of_a_parameter_is_a_mapping():
    tool = ToolSchema("t", "", {"properties": {"a": {"type": "string"}, "b": True}})
    assert parameter_schema(tool, "a") == {"type": "string"}
    assert parameter_schema(tool, "b") == parameter_schema(tool, "c") == {}
    assert properties_of(ToolSchema("t", "", {"properties": []})) == {}


def test_an_answer_in_any_shape():
    assert answer_in({"name": "finish", "arguments": {"note": "done"}}, {}) == "done"
    assert answer_in({"name": "finish", "arguments": "done"}, {}) == "done"
    assert answer_in({"name": "finish", "arguments": {}}, {}) is None
    assert answer_in({"type": "final_answer", "content": "done"}, {}) == "done"
    assert answer_in({"name": "search", "answer": None}, {}) is None
