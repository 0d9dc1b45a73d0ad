"""Values as text for people. Text of models and tools is cleaned first: it must not control the terminal."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
import time
from collections.abc import Mapping
from typing import Any, TextIO

import msgspec

from treadle._models.transport.decision import answer_probability, is_answer
from treadle._types.usage import Usage

# Escape sequences first (colours, titles, clipboard), then control characters and those that reorder text.
_SEQUENCES = re.compile(r"\x1b\[[0-9;:?<=>]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]", re.DOTALL)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    if "\x1b" in text:
        text = _SEQUENCES.sub("", text)
    return _CONTROLS.sub("", text.replace("\r\n", "\n")).replace("\r", "\n")


def one_line(text: str, width: int) -> str:
    """The text on one line, cut to `width`."""
    flat = " ".join(clean(text).split())
    return flat if len(flat) <= width else flat[: max(1, width - 1)] + "…"


def few_lines(text: str, lines: int, width: int = 200) -> list[str]:
    """The first lines of a text, and a line that says how many more there are."""
    all_lines = clean(text).strip("\n").split("\n")
    first = [line if len(line) <= width else line[: width - 1] + "…" for line in all_lines[:lines]]
    if (rest := len(all_lines) - lines) > 0:
        first.append(f"… {plural(rest, 'more line')}")
    return first


def last_lines(text: str, lines: int, width: int) -> list[str]:
    """The last lines of a text, wrapped at `width` characters."""
    wrapped: list[str] = []
    for line in clean(text)[-lines * width :].strip("\n").split("\n"):
        wrapped += [line[start : start + width] for start in range(0, len(line), width)] or [""]
    return wrapped[-lines:]


def wrapped(text: str, indent: str = "", rest: str = "", *, to: TextIO | None = None) -> str:
    """The text for stdout (or `to`): on a terminal, lines are broken between words; a pipe gets them as they are.

    `indent` is before every line, `rest` before those that continue one.
    """
    if not (to or sys.stdout).isatty():
        return "\n".join(f"{indent}{line}" for line in text.split("\n"))
    room = max(20, shutil.get_terminal_size((120, 24)).columns)
    lines: list[str] = []
    for line in text.split("\n"):
        lines += textwrap.wrap(
            line,
            room,
            initial_indent=indent,
            subsequent_indent=indent + rest,
            replace_whitespace=False,
            drop_whitespace=len(line) + len(indent) > room,
        ) or [""]
    return "\n".join(lines)


def say(text: str) -> None:
    """Tell the user something beside the output of a command."""
    print(wrapped(clean(text), rest="  ", to=sys.stderr), file=sys.stderr, flush=True)


def plain_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def arguments(args: dict[str, Any], width: int) -> str:
    """The arguments of a call on one line; their names only when there are several."""
    if not args:
        return ""
    texts = {name: value if isinstance(value, str) else plain_json(value) for name, value in args.items()}
    if len(texts) == 1:
        return one_line(next(iter(texts.values())), width)
    return one_line(", ".join(f"{name}: {text}" for name, text in texts.items()), width)


def wanted(options: Mapping[str, float], most: int = 3) -> str:
    """Return what a model would have written where it decided, the most probable first: `"multi" 86 %, answer 4 %`."""
    answer = answer_probability(options)
    others = [(f'"{one_line(text, 20)}"', share) for text, share in options.items() if not is_answer(text)]
    shown = sorted([*others, ("answer", answer)], key=lambda option: -option[1])
    kept = (
        shown[:most] if any(name == "answer" for name, _ in shown[:most]) else [*shown[: most - 1], ("answer", answer)]
    )
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in kept)


def seconds(value: float) -> str:
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(int(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def count(number: int) -> str:
    if number < 10_000:
        return str(number)
    return f"{number / 1000:.0f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


def plural(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def spent(usage: Usage) -> str:
    """Tokens, and the cost when it is known and not zero."""
    tokens = f"{count(usage.total_tokens)} tokens"
    if usage.cached_tokens:
        tokens += f" ({count(usage.cached_tokens)} cached)"
    if usage.estimated_tokens:
        tokens += f" ({count(usage.estimated_tokens)} of them estimated)"
    return f"{tokens} · ${usage.cost:.4f}" if usage.cost else tokens


def ago(moment: float) -> str:
    past = time.time() - moment
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if past >= size:
            return f"{past / size:.0f} {unit} ago"
    return "just now"


def duration(text: str) -> float:
    """Seconds from `90`, `15m`, `12h`, `30d`, `4w`."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw]?)\s*", text.lower())
    if match is None:
        raise ValueError(f"{text!r} is not a duration: write seconds, or a number with m, h, d or w, such as 30d")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[match[2]]
