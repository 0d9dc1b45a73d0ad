"""`action`: prose, then one line `Action: {"tool", "inputs", "final_answer"}`; the answer stands between markers.

The `final_answer` flag of an Action only says what the model intends to do next; it never ends the run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

import msgspec

from treadle._dialects.base import Decision, Encoding
from treadle._dialects.constraint import action_grammar
from treadle._dialects.describe import encode_json
from treadle._dialects.prompts import ACTION, ACTION_REFORMAT
from treadle._dialects.reading.extract import encodable, scan, strict
from treadle._dialects.reading.placement import TEXT_FOLLOWS
from treadle._dialects.reading.reply import NOT_UNICODE, Reading, by_name, names_existing_tool, read, read_arguments
from treadle._dialects.reading.shapes import Tools, clean_name, doubted, make_call
from treadle._dialects.reading.thinking import split_thinking
from treadle._dialects.text import TextDialect, decide, is_cut
from treadle._dialects.watching.base import Watcher
from treadle._types.profile import Profile
from treadle._types.request import OutputFormat, Reply, ToolSchema

OPENING = "<__final_answer__>"
CLOSING = "</__final_answer__>"
_MARKED = re.compile(
    r"<(?:__)?final_answer(?:__)?>(.*?)(?:</(?:__)?final_answer(?:__)?>|\Z)", re.DOTALL | re.IGNORECASE
)
_LABEL = re.compile(r"^[ \t>*#`]*Action\b[ \t*]*:[ \t*]*", re.MULTILINE | re.IGNORECASE)
_STEPWISE = re.compile(r"([^\n{}]{1,128})\n+[ \t*]*Action[ _]Input[ \t*]*:[ \t*]*", re.IGNORECASE)
_OBSERVATION = re.compile(r"^[ \t*]*(?:Observation\b[^\n]*:|<result\b)", re.MULTILINE | re.IGNORECASE)
_FINAL = re.compile(r"^[ \t*]*Final Answer[ \t*]*:[ \t*]*", re.MULTILINE | re.IGNORECASE)
_THOUGHT = re.compile(r"\A[ \t*]*Thought[ \t*]*:[ \t*]*", re.IGNORECASE)
_NULL_TOOL = re.compile(
    r"\s*(?:```\w*\s*)?\{[^{}]*[\"'](?:tool|name|action)[\"']\s*:\s*(?:null|None|[\"'](?:none|null)?[\"'])"
)
QUOTED_LABEL = "it stands in a quotation: write the Action on a line of its own"
SEVERAL_LINES = "it is not clear where its input ends: give it as a JSON object"
_NONE = ("none", "null", "n/a", "no", "")


class ActionDialect(TextDialect, frozen=True):
    name: ClassVar[str] = "action"
    prompt: ClassVar[str] = ACTION
    reformat_prompt: ClassVar[str] = ACTION_REFORMAT

    def encode(
        self, tools: tuple[ToolSchema, ...], profile: Profile, *, must_answer: bool = False, must_act: bool = False
    ) -> Encoding:
        # Prose before JSON fits no JSON schema; only a grammar can hold it.
        if not profile.grammar:
            return Encoding()
        return Encoding(
            format=OutputFormat("grammar", grammar=action_grammar(() if must_answer else tools, OPENING, CLOSING))
        )

    def watch(self, *, tools: bool) -> Watcher:
        from treadle._dialects.watching.prose import Manner, Prose  # only for runs that are watched

        return Prose(Manner(marked=True), tools=tools)

    def write(self, decision: Decision) -> str:
        if not decision.calls:
            return f"{decision.thought}\n{OPENING}{decision.answer or ''}{CLOSING}".lstrip()
        actions = [
            f"Action: {encode_json({'tool': call.name, 'inputs': call.args, 'final_answer': False})}"
            for call in decision.calls
        ]
        return "\n".join([decision.thought, *actions]).lstrip()

    def decode(self, reply: Reply, tools: Sequence[ToolSchema]) -> Decision:
        tools_by_name = by_name(tools)
        text = encodable(reply.text)
        # A reply that is only JSON is read as it is: its strings may hold anything.
        thinking, rest = ("", text.strip()) if isinstance(strict(text), (dict, list)) else split_thinking(text)
        marked = _marked(rest)
        outside = f"{rest[: marked.start()]}\n{rest[marked.end() :]}" if marked else rest
        reading = _read_action(outside, tools_by_name, is_cut(reply))
        if text is not reply.text:
            reading = msgspec.structs.replace(reading, calls=doubted(reading.calls, NOT_UNICODE))
        before = _THOUGHT.sub("", reading.before).strip()
        if reading.calls or reading.problem:
            answer = marked.group(1).strip() if marked else None
            reading = msgspec.structs.replace(reading, before=before, thinking=thinking)
            return decide(reading, reply, tools, answer=answer, missing="")
        if marked and (answered := marked_answer(rest)):
            return Decision(answered[0] or thinking or reply.reasoning, answer=answered[1])
        named_none = _LABEL.search(outside) is not None
        return _plain_answer(before, thinking or reply.reasoning, named_none=named_none)


def _marked(text: str) -> re.Match[str] | None:
    """The first answer between markers that is not part of a JSON string."""
    if not _MARKED.search(text):
        return None
    spans = scan(text).spans()
    return next(
        (match for match in _MARKED.finditer(text) if not any(start < match.start() < end for start, end in spans)),
        None,
    )


def marked_answer(text: str) -> tuple[str, str] | None:
    """The words before an answer that is marked as one, and the answer; None when nothing is marked."""
    if marked := _marked(text):
        return _THOUGHT.sub("", text[: marked.start()]).strip(), marked.group(1).strip()
    if (final := _FINAL.search(text)) and (answer := text[final.end() :].strip()):
        return text[: final.start()].strip(), answer
    return None


def _plain_answer(text: str, thought: str, *, named_none: bool) -> Decision:
    """A reply without an Action is an answer; a marked one if its Action says that there is none."""
    if marked := marked_answer(text):
        return Decision(marked[0] or thought, answer=marked[1])
    if text:
        return Decision(thought, answer=text, unmarked=not named_none)
    return Decision(thought, problem="it holds neither an Action with a tool nor an answer")


def _read_action(text: str, tools: Tools, cut: bool) -> Reading:
    """The calls in a text; `before` is the prose without them. No calls and no problem: there is no Action."""
    label = _LABEL.search(text)
    if label is None:
        return _unlabelled(text, tools, cut)
    before = text[: label.start()].strip()
    quoted = QUOTED_LABEL if label.group().lstrip().startswith((">", "`")) and "```" not in label.group() else ""
    body = text[label.end() :]
    if observed := _OBSERVATION.search(body):  # the model invented a result itself: what follows does not count
        body, cut = body[: observed.start()], False
    if stepwise := _STEPWISE.match(body):
        reading = _stepwise(before, stepwise, body, tools, cut)
        return msgspec.structs.replace(reading, calls=doubted(reading.calls, quoted))
    reading = read(body, tools, cut=cut)
    if reading.calls or (reading.problem and not _names_none(reading, body)):
        return msgspec.structs.replace(reading, before=before, calls=doubted(reading.calls, quoted))
    if _names_none(reading, body):
        return Reading(text=text, before=before or reading.answer or "")
    name = clean_name(body.strip().strip("`*\"'").split("\n")[0], tools)
    if name in tools and not cut and not tools[name].parameters.get("required"):
        only = not body.strip().partition("\n")[2].strip()
        doubt = quoted or ("" if only else TEXT_FOLLOWS)
        return Reading(text=text, before=before, calls=(make_call(name, {}, tools, repaired=doubt),))
    return Reading(
        text=text, before=before, problem='the Action is not a JSON object like {"tool": "name", "inputs": {...}}'
    )


def _names_none(reading: Reading, body: str) -> bool:
    """Return whether the Action says that there is none: `{"tool": null}`, or a bare `none`."""
    if body.strip().strip("`*.\"'").lower() in _NONE:
        return True
    return not reading.calls and _NULL_TOOL.match(body) is not None


def _stepwise(before: str, head: re.Match[str], body: str, tools: Tools, cut: bool) -> Reading:
    """The older form: `Action: name`, then `Action Input: {...}` or plain text."""
    name = clean_name(head.group(1).strip().strip("`*\"'"), tools)
    given = body[head.end() :].strip()
    if name.lower() in _NONE:
        return Reading(text=body, before=before)
    json = given[:1] in ("{", "[", "`")
    lines = "" if "\n" not in given else SEVERAL_LINES
    call = (
        read_arguments(given, name, tools, cut=cut)
        if json
        else make_call(name, given, tools, complete=not cut, repaired=lines)
    )
    return Reading(text=body, before=before, calls=(call,))


def _unlabelled(text: str, tools: Tools, cut: bool) -> Reading:
    """Without the label: markup, or JSON that ends the reply and calls an existing tool."""
    reading = read(text, tools, cut=cut)
    if reading.markup:
        return reading
    ends = text.rstrip().rstrip("`").rstrip()[-1:] in ("}", "]", ")")
    if reading.calls and all(call.name in tools for call in reading.calls) and (ends or reading.only_json):
        return reading
    if reading.problem and names_existing_tool(text, tools) and (ends or cut or reading.only_json):
        return reading
    return Reading(text=text, before=reading.text)
