"""`code`: the action is Python code that calls tools as functions.

A reply with a Python block is one call of the tool `python`, which runs it; a reply without one is the answer.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Sequence
from typing import ClassVar

import msgspec

from treadle._dialects.base import Decision, Encoding, Prompts
from treadle._dialects.describe import describe
from treadle._dialects.prompts import CODE, CODE_REFORMAT
from treadle._dialects.reading.extract import CUT_OFF
from treadle._dialects.reading.thinking import split_thinking
from treadle._dialects.text import TextDialect, is_cut
from treadle._dialects.watching.base import Watcher
from treadle._types.messages import ToolCall
from treadle._types.profile import Profile
from treadle._types.request import Reply, ToolSchema

PYTHON = "python"
FINAL_ANSWER = "final_answer"
MODULES = "asyncio, collections, datetime, decimal, functools, itertools, json, math, random, re, time"

_FENCE = re.compile(r"^[ \t]*(`{3,10}|~{3,10})[ \t]{0,8}([\w+-]{0,20})[^\n]*\n", re.MULTILINE)
_TAG = re.compile(r"<(code|python|execute)>", re.IGNORECASE)
_PYTHON_NAMES = ("python", "py", "python3", "tool_code", "code")
_INVENTED_RESULT = re.compile(r"<_?result\b|^[ \t]*(?:Observation|Output|Result)s?:", re.MULTILINE | re.IGNORECASE)
"""A model that continues after its code invents the result of that code."""


def function_name(tool: str) -> str:
    """The name under which code calls a tool."""
    name = re.sub(r"\W", "_", tool)
    if name[:1].isdigit():
        name = f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) or hasattr(builtins, name) or name == FINAL_ANSWER else name


class CodeDialect(TextDialect, frozen=True):
    name: ClassVar[str] = "code"
    prompt: ClassVar[str] = CODE
    reformat_prompt: ClassVar[str] = CODE_REFORMAT

    def system(self, base: str, tools: Sequence[ToolSchema], prompts: Prompts) -> str:
        functions = [
            msgspec.structs.replace(tool, name=function_name(tool.name)) for tool in tools if tool.name != PYTHON
        ]
        text = prompts.get("dialect.code", self.prompt).replace("{modules}", MODULES)
        filled = (
            text.replace("{call}", self.example_calls(functions[:1], "This needs the tool."))
            .replace("{tools}", describe(functions) if functions else "")
            .strip()
        )
        return f"{base.strip()}\n\n{filled}" if base.strip() else filled

    def encode(
        self, tools: tuple[ToolSchema, ...], profile: Profile, *, must_answer: bool = False, must_act: bool = False
    ) -> Encoding:
        return Encoding()

    def watch(self, *, tools: bool) -> Watcher:
        from treadle._dialects.watching.prose import Manner, Prose  # only for runs that are watched

        return Prose(Manner(fenced=True), tools=tools)

    def write(self, decision: Decision) -> str:
        if not decision.calls:
            return decision.answer or decision.thought
        lines = [_as_code(call) for call in decision.calls]
        return f"{decision.thought}\n```python\n{chr(10).join(lines)}\n```".strip()

    def decode(self, reply: Reply, tools: Sequence[ToolSchema]) -> Decision:
        thinking, text = split_thinking(reply.text)
        names = {function_name(tool.name) for tool in tools} | {FINAL_ANSWER, "print"}
        code, before, closed = find_code(text, names)
        if code and not closed and is_cut(reply):
            return Decision(before or thinking, problem=CUT_OFF)
        if code:
            return Decision(before or thinking or reply.reasoning, (ToolCall("call_0", PYTHON, {"code": code}),))
        if not text.strip():
            return Decision(thinking, problem="there is neither code nor an answer in it")
        return Decision(thinking or reply.reasoning, answer=text.strip())


def find_code(text: str, names: set[str]) -> tuple[str, str, bool]:
    """The code of a reply, the text before it, and whether its last block was closed."""
    blocks: list[str] = []
    before, position, closed = text, 0, True
    while fence := _FENCE.search(text, position):
        if blocks and _INVENTED_RESULT.search(text, position, fence.start()):
            break
        end = re.compile(rf"^[ \t]*{re.escape(fence.group(1))}[ \t]*$", re.MULTILINE).search(text, fence.end())
        body = text[fence.end() : end.start() if end else len(text)]
        if _is_python(fence.group(2).lower(), body, names):
            before = before if blocks else text[: fence.start()]
            blocks.append(body.rstrip())
            closed = end is not None
        position = end.end() if end else len(text)
    if (
        not blocks
        and (tag := _TAG.search(text))
        and (end := re.search(f"</{tag.group(1)}>", text[tag.end() :], re.IGNORECASE))
    ):
        blocks, before = [text[tag.end() :][: end.start()].strip()], text[: tag.start()]
    return "\n".join(blocks).strip("\n"), before.strip() if blocks else "", closed


def _is_python(language: str, body: str, names: set[str]) -> bool:
    if language:
        return language in _PYTHON_NAMES
    return any(re.search(rf"\b{re.escape(name)}\(", body) for name in names)


def _as_code(call: ToolCall) -> str:
    if call.name == PYTHON:
        return str(call.args.get("code", ""))
    arguments = ", ".join(f"{name}={value!r}" for name, value in call.args.items())
    return f"print({function_name(call.name)}({arguments}))"
