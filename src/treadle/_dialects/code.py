"""`code`: the action is Python code that calls tools as functions.

A reply with Python in it (in a block, bare, or as the `code` of a JSON object) is one call of the tool `python`, which
runs it. An answer is marked as one; other prose is no answer, because most of it says what the model is about to do.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import msgspec

from treadle._dialects.action import CLOSING, OPENING, marked_answer
from treadle._dialects.base import Decision, Encoding, Prompts
from treadle._dialects.describe import describe, encode_json
from treadle._dialects.prompts import CODE, CODE_REFORMAT
from treadle._dialects.reading.extract import CUT_OFF, strict
from treadle._dialects.reading.thinking import split_thinking
from treadle._dialects.text import TextDialect, is_cut
from treadle._dialects.watching.base import Watcher
from treadle._types.messages import ToolCall
from treadle._types.profile import Profile
from treadle._types.request import Reply, ToolSchema

PYTHON = "python"
FINAL_ANSWER = "final_answer"

_FENCE = re.compile(r"^[ \t]*(`{3,10}|~{3,10})[ \t]{0,8}([\w+-]{0,20})[^\n]*\n", re.MULTILINE)
_TAG = re.compile(r"<(code|python|execute)>", re.IGNORECASE)
_PYTHON_NAMES = ("python", "py", "python3", "tool_code", "code")
_INVENTED_RESULT = re.compile(r"<_?result\b|^[ \t]*(?:Observation|Output|Result)s?:", re.MULTILINE | re.IGNORECASE)
"""A model that continues after its code invents the result of that code."""
EMPTY_BLOCK = "the code block is empty"
_MAX_BARE = 20_000
"""Characters of a reply that is looked through for code without a fence."""
_BARE_START = re.compile(
    r"(?:import|from|for|while|if|with|def|async|await) |try:|\w[\w, .\[\]'\"]{0,80} ?[-+*/]?=|[\w.]{1,80}\("
)


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
        python = next((tool.description for tool in tools if tool.name == PYTHON), "")
        text = prompts.get("dialect.code", self.prompt).replace("{python}", python)
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

        return Prose(Manner(marked=True, fenced=True), tools=tools)

    def write(self, decision: Decision) -> str:
        if not decision.calls:
            marked = f"{OPENING}{decision.answer}{CLOSING}" if decision.answer else ""
            return f"{decision.thought}\n{marked}".strip()
        lines = [_as_code(call) for call in decision.calls]
        return f"{decision.thought}\n```python\n{chr(10).join(lines)}\n```".strip()

    def decode(self, reply: Reply, tools: Sequence[ToolSchema]) -> Decision:
        thinking, text = split_thinking(reply.text)
        thought = thinking or reply.reasoning
        names = {function_name(tool.name) for tool in tools} | {FINAL_ANSWER, "print"}
        fields = _json_fields(text)
        if fields is not None:
            return _of_fields(fields, thought)
        code, before, closed = find_code(text, names)
        if code and not closed and is_cut(reply):
            return Decision(before or thinking, problem=CUT_OFF)
        if code:
            return _run(code, before or thought)
        if marked := marked_answer(text):
            return Decision(marked[0] or thought, answer=marked[1])
        if before is not None:
            return Decision(before or thought, problem=EMPTY_BLOCK)
        if not text.strip():
            return Decision(thinking, problem="there is neither code nor an answer in it")
        if bare := _bare_code(text):
            return Decision(bare[1] or thought, problem=CUT_OFF) if is_cut(reply) else _run(bare[0], bare[1] or thought)
        return Decision(thought, answer=text.strip(), unmarked=True)


def _run(code: str, thought: str) -> Decision:
    return Decision(thought, (ToolCall("call_0", PYTHON, {"code": code}),))


def _json_fields(text: str) -> dict[str, Any] | None:
    """The fields of a reply that is one JSON object, alone or in a block of its own, with code or an answer in it."""
    text = text.strip()
    if fence := _FENCE.match(text):
        text = text[fence.end() :].rstrip("`~ \n")
    value = strict(text) if text.startswith("{") else None
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return fields if fields.keys() & {"code", FINAL_ANSWER} else None


def _of_fields(fields: dict[str, Any], thought: str) -> Decision:
    thought = str(fields.get("thought") or thought)
    code = str(fields.get("code") or "").strip()
    if code:
        inner = find_code(code, {FINAL_ANSWER, "print"})[0]  # some models put a fence inside the string
        return _run(inner or code, thought)
    answer = fields.get(FINAL_ANSWER)
    if answer in (None, ""):
        return Decision(thought, problem="its field `code` is empty")
    successful = fields.get("task_successful")
    text = answer if isinstance(answer, str) else encode_json(answer)
    return Decision(thought, answer=text, task_successful=successful if isinstance(successful, bool) else None)


def _bare_code(text: str) -> tuple[str, str] | None:
    """The code at the end of a reply that has no fence, and the words before it."""
    if len(text) > _MAX_BARE:
        return None
    lines = text.strip().split("\n")
    starts = [number for number, line in enumerate(lines) if _BARE_START.match(line)]
    for start in starts[:3]:
        code = "\n".join(lines[start:])
        try:
            statements = ast.parse(code).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if any(map(_acts, statements)):
            return code, "\n".join(lines[:start]).strip()
    return None


def _acts(statement: ast.stmt) -> bool:
    """Return whether a statement does something: a single word is an expression in Python, too."""
    return not isinstance(statement, ast.Expr) or isinstance(statement.value, (ast.Call, ast.Await))


def find_code(text: str, names: set[str]) -> tuple[str, str | None, bool]:
    """The code of a reply, the text before it (None when there is no block of code), and whether its last block was
    closed."""
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
    return "\n".join(blocks).strip("\n"), before.strip() if blocks else None, closed


def _is_python(language: str, body: str, names: set[str]) -> bool:
    if language:
        return language in _PYTHON_NAMES
    return any(re.search(rf"\b{re.escape(name)}\(", body) for name in names)


def _as_code(call: ToolCall) -> str:
    if call.name == PYTHON:
        return str(call.args.get("code", ""))
    arguments = ", ".join(f"{name}={value!r}" for name, value in call.args.items())
    return f"print({function_name(call.name)}({arguments}))"
