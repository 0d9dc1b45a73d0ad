# ruff: noqa: RUF001 - models write these characters
"""Separates the thinking that a model wrote into its text from the reply itself."""

from __future__ import annotations

import re

_MAX_BLOCKS = 20
_TAGS = r"think|thinking|thought|reasoning|seed:think"
_OPEN = re.compile(rf"<({_TAGS})>|\[(THINK)\]|<\|(channel)>thought\b|◁(think)▷", re.IGNORECASE)
_CLOSE = {"think": r"</{0}>|\[/THINK\]|◁/think▷", "channel": r"<channel\|>"}
_ORPHAN = re.compile(r"(?<![`\"'])(?:</think>|\[/THINK\]|◁/think▷)")
_HARMONY = re.compile(
    r"<\|channel\|>\s*(\w+)([^<]*)(?:<\|constrain\|>[^<]*)?<\|message\|>(.*?)(?=<\|(?:end|return|call|start)\|>|<\|channel\|>(?!\s*\w+[^<]*\bto=)|\Z)",
    re.DOTALL,
)
_BETWEEN_CHANNELS = re.compile(r"(?:\s|<\|(?:end|return|call)\|>(?:\w+\Z)?|<\|start\|>(?:\s*assistant)?)*")
_END_TOKEN = re.compile(
    r"(?:<\|(?:tool_calls?(?:_section)?_end|call|im_end|eot_id|eom_id|end|return|endoftext|end_of_text|im_start|eos)\|>|</s>|<｜end▁of▁sentence｜>)\Z"
)
_QUOTE = re.compile(r"\\.|\"")
_TOOL_START = re.compile(
    r"<\|tool_calls_section_begin\|>|<\|tool_call_begin\|>|<tool_calls?>|<｜tool▁calls▁begin｜>|<｜DSML｜tool_calls>|\[TOOL_CALLS\]"
)


def split_thinking(text: str) -> tuple[str, str]:
    """The thinking at the start of a reply, and the rest.

    A block that was never closed ends at a tool call, else with the text. Only blocks at the start of the reply
    count: an answer may mention such tags. A closing tag alone ends thinking that began in the prompt.
    """
    if text.lstrip().startswith(("{", "[", "```")) and not _OPEN.match(text.lstrip()):
        return "", without_end_tokens(text)  # JSON comes first: tags in it are part of its strings
    if "<|channel|>" in text:
        return _split_channels(text)
    thoughts: list[str] = []
    rest = text
    while len(thoughts) < _MAX_BLOCKS and (head := rest.lstrip()) and (opened := _OPEN.match(head)):
        inside, rest = _close(head[opened.end() :], next(group for group in opened.groups() if group).lower())
        thoughts.append(_OPEN.sub("", inside, count=1).strip() if _OPEN.match(inside) else inside.strip())
    orphan = None if thoughts or "/" not in text else _ORPHAN.search(text)
    if orphan and not _OPEN.search(text, 0, orphan.start()) and not _in_string(text, orphan.start()):
        thoughts.append(text[: orphan.start()].strip())
        rest = text[orphan.end() :]
    return "\n".join(thought for thought in thoughts if thought), without_end_tokens(rest)


def without_thinking(text: str) -> str:
    """Return what a reply says beside its thinking; empty when it says nothing."""
    return split_thinking(text)[1].strip() if text else ""


def _in_string(text: str, position: int) -> bool:
    line = text.rfind("\n", 0, position) + 1
    return _QUOTE.findall(text, line, position).count('"') % 2 == 1


def _close(text: str, kind: str) -> tuple[str, str]:
    pattern = _CLOSE.get(kind) or f"</{re.escape(kind)}>"
    if closing := re.search(pattern.format(kind), text, re.IGNORECASE):
        return text[: closing.start()], text[closing.end() :]
    if tool := _TOOL_START.search(text):
        return text[: tool.start()], text[tool.start() :]
    return text, ""


def _split_channels(text: str) -> tuple[str, str]:
    """The channels of the harmony format: `final` is the reply, messages to a tool are calls, others thinking.

    Beside other text a call is left where it is: whether it is one or only shown depends on its place.
    """
    thoughts: list[str] = []
    replies: list[str] = []
    calls: list[str] = []
    end, alone = 0, True
    for match in _HARMONY.finditer(text):
        channel, header, body = match.groups()
        alone = alone and bool(_BETWEEN_CHANNELS.fullmatch(text, end, match.start()))
        end = match.end()
        if "to=" in header:
            calls.append(match.group() + "<|call|>")
        elif channel == "final":
            replies.append(body.strip())
        else:
            thoughts.append(body.strip())
    if not (thoughts or replies or calls):
        return "", "" if text.lstrip().startswith(("<|channel|>", "<|start|>")) else without_end_tokens(text)
    if calls and not (alone and _BETWEEN_CHANNELS.fullmatch(text, end)):
        return "", without_end_tokens(text)
    return "\n".join(thought for thought in thoughts if thought), "\n".join(calls or replies)


def without_end_tokens(text: str) -> str:
    text = text.strip()
    while token := _END_TOKEN.search(text, max(0, len(text) - 40)):
        text = text[: token.start()].rstrip()
    # Characters that nobody can see, such as a byte order mark, say nothing.
    return text if any(char.isprintable() and not char.isspace() for char in text) else ""
