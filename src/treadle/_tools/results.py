"""A tool's result as the model sees it: text, images and files, cut to size, never an artifact's content."""

from __future__ import annotations

import math
import os
import traceback
from base64 import b64encode
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from treadle._types.errors import ToolError
from treadle._types.events import Artifact
from treadle._types.messages import AudioPart, Content, FilePart, ImagePart, MediaPart, Part, TextPart

NO_OUTPUT = "(no output)"
SO_FAR = " Output so far:\n"
"""In the result of a generator that failed, between the failure and what it had given."""
LARGEST = 2_000_000
"""Characters of a result that are looked at and recorded: more than that is cut out of its middle first."""
_MARKER = "\n[... {} characters left out ...]\n"
_SHOWN = "(The user is shown its content: refer to it, do not repeat it.)"
_FRAMES = 5
_THIS_FOLDER = os.path.dirname(__file__)


def render(
    observation: Any, artifacts: tuple[Artifact, ...], max_chars: int
) -> tuple[Content, str | None, tuple[Artifact, ...]]:
    """The content for the model, the uncut text if it was cut, and all artifacts in the result."""
    if isinstance(observation, str) and not artifacts:
        text = clean(cut(to_text(observation), LARGEST))
        return cut(text, max_chars), text if len(text) > max_chars else None, ()
    collected = [_clean_artifact(artifact) for artifact in artifacts]
    parts: list[Part] = []
    for piece in _pieces(observation):
        if isinstance(piece, Artifact):
            piece = _clean_artifact(piece)
            collected.append(piece)
        elif isinstance(piece, MediaPart):
            parts.append(piece)
        else:
            parts.append(TextPart(clean(cut(piece, LARGEST))))
    labels = [_label(artifact) for artifact in collected]
    if labels:
        shown = [
            TextPart(_without_contents(part.text, collected)) if isinstance(part, TextPart) else part for part in parts
        ]
        parts = [part for part in shown if not isinstance(part, TextPart) or part.text]
        parts.append(TextPart("\n".join(labels)))
    return *_cut_parts(parts, max_chars), tuple(collected)


def clean(text: str) -> str:
    """The same text, encodable as UTF-8: halves of surrogate pairs are joined, or replaced when one is missing."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def cut(text: str, limit: int) -> str:
    """At most `limit` characters: the beginning, a marker that says how much is left out, the end."""
    if len(text) <= limit:
        return text
    room = limit - len(_MARKER.format(len(text)))
    if room <= 0:
        return text[: max(limit, 0)]
    tail = room // 3
    return text[: room - tail] + _MARKER.format(len(text) - room) + text[len(text) - tail :]


def to_text(value: Any) -> str:
    """Any value as text: strings as they are, JSON where possible, else `str` or `repr`."""
    if isinstance(value, str):
        return str.__str__(value)  # that of an Enum would be the name of its member
    if value is None:
        return NO_OUTPUT
    if isinstance(value, (bytes, bytearray)):
        try:
            return value.decode() if len(value) <= 4 * LARGEST else value[: 4 * LARGEST].decode(errors="replace")
        except UnicodeDecodeError:
            return f"({len(value)} bytes that are not text)"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    try:
        plain = msgspec.to_builtins(value, enc_hook=to_builtin)
        return plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()
    except Exception:  # cycles, keys that are no text, lone surrogates, hooks of other classes
        return safe_repr(value)


def to_builtin(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else str(value)


def safe_repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception:
        return f"({type(value).__name__} that cannot be shown)"


def _pieces(observation: Any) -> Iterator[str | ImagePart | AudioPart | FilePart | Artifact]:
    if isinstance(observation, (Artifact, ImagePart, AudioPart, FilePart)):
        yield observation
    elif isinstance(observation, TextPart):
        yield observation.text
    elif isinstance(observation, (list, tuple)) and any(
        isinstance(item, (Artifact, MediaPart, TextPart)) for item in cast("list[Any]", observation)
    ):
        for item in cast("list[Any]", observation):
            yield from _pieces(item)
    elif isinstance(observation, dict) and any(
        isinstance(item, Artifact) for item in cast("dict[Any, Any]", observation).values()
    ):
        fields = cast("dict[Any, Any]", observation)
        yield to_text({key: _label(item) if isinstance(item, Artifact) else item for key, item in fields.items()})
        yield from (item for item in fields.values() if isinstance(item, Artifact))
    else:
        yield to_text(observation)


def _label(artifact: Artifact) -> str:
    size = f"({artifact.mime}, {len(artifact.content)} characters)"
    return f"[Artifact generated: {artifact.name}] {artifact.summary or size} {_SHOWN}"


def _clean_artifact(artifact: Artifact) -> Artifact:
    content: Any = artifact.content
    if isinstance(content, (bytes, bytearray)):  # tools that draw pictures return these
        return Artifact(artifact.name, b64encode(content).decode(), clean(artifact.mime), True, clean(artifact.summary))
    return Artifact(artifact.name, clean(content), clean(artifact.mime), artifact.base64, clean(artifact.summary))


def _without_contents(text: str, artifacts: list[Artifact]) -> str:
    """The text without the artifacts' contents, which some tools repeat in their observation."""
    if text == NO_OUTPUT:
        return ""
    for artifact in artifacts:
        content = artifact.content
        if text.strip() == content.strip():
            return ""
        if len(content) >= 40:
            text = text.replace(content, f"[{artifact.name}]")
    return text


def _cut_parts(parts: list[Part], limit: int) -> tuple[Content, str | None]:
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    text = texts[0] if len(texts) == 1 else "\n".join(texts)
    media = [part for part in parts if not isinstance(part, TextPart)]
    full = text if len(text) > limit else None
    if not media:
        return cut(text, limit), full
    if full is not None:
        return (TextPart(cut(text, limit)), *media), full
    return tuple(parts), None


def describe_failure(name: str, error: BaseException, detail: str) -> str:
    """Describe an exception to the model; the text of a `ToolError` is always shown."""
    leaves = list(_leaves(error))[:_FRAMES]
    tool_errors = [leaf for leaf in leaves if isinstance(leaf, ToolError)]
    if tool_errors:
        return f"Tool '{name}' failed: {'; '.join(_message(leaf) for leaf in tool_errors)}"
    if detail == "class":
        kinds = ", ".join(dict.fromkeys(type(leaf).__name__ for leaf in leaves))
        return f"Tool '{name}' failed: {kinds}"
    text = f"Tool '{name}' failed: {'; '.join(_described(leaf) for leaf in leaves)}"
    return f"{text}\n{_trace(leaves[0])}".rstrip() if detail == "full" else text


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for child in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _leaves(child)
    else:
        yield error


def _message(error: BaseException) -> str:
    try:
        return clean(str(error)) or type(error).__name__
    except Exception:
        return type(error).__name__


def _described(error: BaseException) -> str:
    message = _message(error)
    return message if message == type(error).__name__ else f"{type(error).__name__}: {message}"


def _trace(error: BaseException) -> str:
    """The last frames of the tool's own code. File names only: folders would tell about the machine."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if os.path.dirname(frame.filename) != _THIS_FOLDER
    ]
    return "\n".join(
        f"  {os.path.basename(frame.filename)}:{frame.lineno} in {frame.name}: {frame.line}"
        for frame in frames[-_FRAMES:]
    )
