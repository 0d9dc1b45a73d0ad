"""Random scripts for a scripted model: good calls, broken replies, failures, in every dialect."""

from __future__ import annotations

import asyncio

import msgspec
from hypothesis import strategies as st

from kit import add, call, echo, fail
from treadle import tool
from treadle._types.errors import TransientModelError
from treadle._types.request import RawCall, Reply

BOUND = 8
TEXT = {"tool_call": False, "json_schema": False}


@tool(timeout=0.02)
async def slow() -> str:
    """Too slow."""
    await asyncio.sleep(5)
    return "never"


TOOLS = [add, echo, fail, slow]

good_call = st.sampled_from(
    [
        call("add", a=1, b=2),
        call("echo", text="hello"),
        call("fail"),
        call("slow"),
        call("nope", x=1),
        call("add", a="x"),
    ]
)
written = good_call.map(lambda made: msgspec.json.encode({"name": made["name"], "arguments": made["args"]}).decode())
reply = st.one_of(
    good_call,
    st.lists(good_call, min_size=1, max_size=4),
    written,
    written.map(lambda text: f"```json\n{text}\n```"),
    written.map(lambda text: text[:-3]),
    written.map(lambda text: f"Action: {text.replace('name', 'tool').replace('arguments', 'inputs')}"),
    st.sampled_from(
        ["", "   ", "{", "[]", "null", "42", '{"type": "tool_call"}', "<tool_call>", "plain words", "[[[["]
    ),
    st.text(max_size=30),
    st.just(
        Reply(calls=(RawCall("dup", "add", '{"a": 1, "b": 2}'), RawCall("dup", "add", '{"a": 1')), finish="length")
    ),
    st.just(Reply(calls=(RawCall("", "", ""),), finish="calls")),
    st.just(Reply(finish="filter")),
    st.builds(lambda: TransientModelError("busy", status=503)),
)
actions = st.lists(
    st.tuples(st.integers(0, BOUND), st.sampled_from(["send", "cancel", "nothing", "nothing"])), max_size=4
)
dialects = st.sampled_from(["auto", "native", "json", "action", "array", "schema", "direct", "brief"])
