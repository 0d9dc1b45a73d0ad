# ruff: noqa: RUF001, E501 - what models write, as they write it
"""Tools and texts that several tests of the dialects share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs

from treadle._dialects.base import Decision, Encoding
from treadle._dialects.registry import get_dialect
from treadle._types.request import Reply, ToolSchema

DATA = Path(__file__).resolve().parent.parent / "data"
NAMES = ("native", "json", "action", "array", "schema", "direct", "brief")
TEXT_NAMES = NAMES[1:]
WORKED = TEXT_NAMES[:-1]
"""With a worked example and fenced results; what `brief` has instead is in its own tests."""
READERS = ("native", "json", "action", "array")
"""Those that read in ways of their own: the others read an object as `json` does."""
THOUGHTLESS = ("array", "direct", "brief")

SEARCH = ToolSchema(
    "search",
    "Find pages about something.",
    {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "what to look for"}, "limit": {"type": "integer"}},
        "required": ["query"],
    },
)
ADD = ToolSchema(
    "add",
    "Add two numbers.",
    {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]},
)
NOW = ToolSchema("now", "The time.", {"type": "object", "properties": {}})
TOOLS = (SEARCH, ADD, NOW)


def load(name: str) -> Any:
    return json.loads((DATA / name).read_text("utf-8"))


def decode(dialect: str, text: str, finish: Any = "stop", tools: tuple[ToolSchema, ...] = TOOLS) -> Decision:
    return get_dialect(dialect).decode(Reply(text=text, finish=finish), tools)


def executable(decision: Decision) -> list[tuple[str, dict[str, Any]]]:
    """What the engine would run."""
    return [(call.name, call.args) for call in decision.calls if not call.problem]


CALL = [("search", {"query": "red pandas", "limit": 3})]
ARGS = '{"query": "red pandas", "limit": 3}'

SHAPES = {
    "name/arguments": f'{{"name": "search", "arguments": {ARGS}}}',
    "name/parameters": f'{{"name": "search", "parameters": {ARGS}}}',
    "tool/inputs": f'{{"tool": "search", "inputs": {ARGS}}}',
    "tool/inputs/final_answer": f'{{"tool": "search", "inputs": {ARGS}, "final_answer": false}}',
    "action/args": f'{{"thought": "look", "action": "search", "args": {ARGS}}}',
    "action/args, all keys": f'{{"thought": "", "action": "search", "args": {ARGS}, "final_answer": null, "task_successful": null}}',
    "action/action_input": f'{{"action": "search", "action_input": {ARGS}}}',
    "tool_name/tool_args": f'{{"type": "tool_call", "reasoning": "look", "tool_name": "search", "tool_args": {ARGS}}}',
    "function": f'{{"function": {{"name": "search", "arguments": {ARGS}}}}}',
    "function, encoded": '{"type": "function", "function": {"name": "search", "arguments": "{\\"query\\": \\"red pandas\\", \\"limit\\": 3}"}}',
    "tool_calls": f'{{"tool_calls": [{{"id": "x", "type": "function", "function": {{"name": "search", "arguments": {ARGS}}}}}]}}',
    "tool_call": f'{{"tool_call": {{"name": "search", "arguments": {ARGS}}}}}',
    "anthropic": f'{{"type": "tool_use", "id": "t", "name": "search", "input": {ARGS}}}',
    "one key": f'{{"search": {ARGS}}}',
    "flat": '{"tool": "search", "query": "red pandas", "limit": 3}',
    "array": f'[{{"name": "search", "arguments": {ARGS}}}]',
    "prefixed name": f'{{"name": "functions.search", "arguments": {ARGS}}}',
    "encoded whole": json.dumps(f'{{"name": "search", "arguments": {ARGS}}}'),
    "types as text": '{"name": "search", "arguments": {"query": "red pandas", "limit": "3"}}',
    "wrapped": f'{{"name": "search", "arguments": {{"properties": {ARGS}}}}}',
}

SLIPS = {
    "fenced": f'```json\n{{"name": "search", "arguments": {ARGS}}}\n```',
    "trailing comma": '{"name": "search", "arguments": {"query": "red pandas", "limit": 3,},}',
    "single quotes": "{'name': 'search', 'arguments': {'query': 'red pandas', 'limit': 3}}",
    "python literals": "{'name': 'search', 'arguments': {'query': 'red pandas', 'limit': 3}, 'final_answer': None}",
    "comments": '{"name": "search", // the tool\n "arguments": {"query": "red pandas", /* some */ "limit": 3} # done\n}',
    "smart quotes": "{“name”: “search”, “arguments”: {“query”: “red pandas”, “limit”: 3}}",
    "unquoted keys": '{name: "search", arguments: {query: "red pandas", limit: 3}}',
    "no last bracket": '{"name": "search", "arguments": {"query": "red pandas", "limit": 3}',
    "no last bracket in a fence": '```json\n{"name": "search", "arguments": {"query": "red pandas", "limit": 3}\n```',
    "no last bracket in a tag": '<tool_call>\n{"name": "search", "arguments": {"query": "red pandas", "limit": 3}\n</tool_call>',
    "triple quotes": '{"name": "search", "arguments": {"query": """red pandas""", "limit": 3}}',
    "thinking": f'<think>{{"name": "add", "arguments": {{}}}}?</think>\n{{"name": "search", "arguments": {ARGS}}}',
    "thinking from the prompt": f'so {{"name": "add"}} no\n</think>\n{{"name": "search", "arguments": {ARGS}}}',
}

MARKUP = {
    "hermes": f'<tool_call>\n{{"name": "search", "arguments": {ARGS}}}\n</tool_call>',
    "mistral": f'[TOOL_CALLS] [{{"name": "search", "arguments": {ARGS}}}]',
    "mistral args": f"[TOOL_CALLS]search[ARGS]{ARGS}",
    "llama": f'<|python_tag|>{{"name": "search", "parameters": {ARGS}}}',
    "llama function": f"<function=search>{ARGS}</function>",
    "llama pythonic": '<|python_tag|>[search(query="red pandas", limit=3)]',
    "granite": f'<function_call> {{"name": "search", "arguments": {ARGS}}}',
    "phi": f'functools[{{"name": "search", "arguments": {ARGS}}}]',
    "qwen xml": "<tool_call>\n<function=search>\n<parameter=query>\nred pandas\n</parameter>\n<parameter=limit>\n3\n</parameter>\n</function>\n</tool_call>",
    "glm": "<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>red pandas</arg_value>\n<arg_key>limit</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
    "minimax": '<minimax:tool_call><invoke name="search"><parameter name="query">red pandas</parameter><parameter name="limit">3</parameter></invoke></minimax:tool_call>',
    "kimi": f"<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>{ARGS}<|tool_call_end|><|tool_calls_section_end|>",
    "deepseek": f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n{ARGS}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek 3.1": f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>{ARGS}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "gemma": '<|tool_call>call:search{query:<|"|>red pandas<|"|>,limit:3}<tool_call|>',
    "lfm": '<|tool_call_start|>[search(query="red pandas", limit=3)]<|tool_call_end|>',
    "apertus": f'<|tools_prefix|>[{{"search": {ARGS}}}]<|tools_suffix|>',
    "harmony": f"<|channel|>analysis<|message|>look<|end|><|start|>assistant<|channel|>commentary to=functions.search <|constrain|>json<|message|>{ARGS}<|call|>",
    "pythonic": '[search(query="red pandas", limit=3)]',
    "pythonic, by place": 'search("red pandas", limit=3)',
}

OWN_CALL = {
    "json": f'{{"reasoning": "look", "type": "tool_call", "tool_name": "search", "tool_args": {ARGS}}}',
    "schema": f'{{"thought": "look", "action": "search", "args": {ARGS}}}',
    "direct": f'{{"action": "search", "args": {ARGS}}}',
    "brief": f'{{"from": "tool", "action": "search", "args": {ARGS}}}',
    "array": f'[{{"name": "search", "arguments": {ARGS}}}]',
    "action": f'look\nAction: {{"tool": "search", "inputs": {ARGS}, "final_answer": false}}',
}
OWN_ANSWER = {
    "json": '{"reasoning": "known", "type": "final_answer", "answer": "Paris"}',
    "schema": '{"thought": "known", "action": "final_answer", "final_answer": "Paris", "task_successful": true}',
    "direct": '{"action": "final_answer", "final_answer": "Paris", "task_successful": true}',
    "brief": '{"from": "common knowledge", "final_answer": "Paris"}',
    "array": '[{"name": "__complete_task__", "arguments": {"answer": "Paris"}}]',
    "action": "known\n<__final_answer__>Paris</__final_answer__>",
}
"""A call and an answer as each text dialect asks for them."""


def fits(encoding: Encoding, text: str) -> bool:
    """Whether the text is JSON that the encoding's schema allows."""
    assert encoding.format is not None
    assert encoding.format.kind == "schema"
    assert encoding.format.schema is not None
    return jsonschema_rs.is_valid(encoding.format.schema, json.loads(text))
