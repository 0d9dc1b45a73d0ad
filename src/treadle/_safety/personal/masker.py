"""Masks what enters a run, and restores what leaves it."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from treadle._safety.personal.kinds import Finder, plain
from treadle._safety.personal.vault import OPEN, PLACEHOLDER, Vault
from treadle._safety.tree import binary_field, rewritten
from treadle._types import events as ev
from treadle._types.messages import FilePart, MediaPart, TextPart, ToolCall, ToolMessage
from treadle._types.profile import Profile
from treadle._types.request import ToolSchema

T = TypeVar("T")
_NO_WORDS = frozenset(
    (
        "id", "ids", "call_id", "child", "component", "conversation", "dialect", "digest", "effect", "error_type",
        "follows", "key", "model", "mime", "origin", "parts", "preset", "previous", "profile", "run", "seq",
        "settings", "stop_reason", "tool", "user", "agent", "client_tools",
    )
)  # fmt: skip
"""Fields that name something for the engine: no model reads them, and a changed one would name nothing."""
_NAMED = (ToolSchema, ToolCall, ToolMessage, ev.ToolDone, ev.ToolOutput)
"""What has the name of a tool."""
_NO_WORDS_NOR_NAME = _NO_WORDS | {"name"}
_WITH_DATA = _NO_WORDS | {"data", "blob", "file_id"}
_WITH_CONTENT = _NO_WORDS | {"content"}
LEFT_OUT = "({} was left out: personal data in it could not be masked.)"


class Masker:
    """For one user: each has placeholders of their own."""

    def __init__(self, finder: Finder, vault: Vault, user: str = "", *, media: bool = False) -> None:
        self._finder, self._vault, self._user, self._media = finder, vault, user, media
        self.masked: Counter[str] = Counter()
        """How many of each kind were masked."""
        self._counting = threading.Lock()
        """Long texts are masked in another thread."""

    # ---- on the way in

    def text(self, text: str) -> str:
        """Replace each personal datum by a placeholder. Placeholders in the text stay as they are."""
        if "[" not in text:
            return self._masked(text)
        pieces: list[str] = []
        end = 0
        for match in PLACEHOLDER.finditer(text):
            pieces += [self._masked(text[end : match.start()]), match[0]]
            end = match.end()
        return "".join([*pieces, self._masked(text[end:])]) if pieces else self._masked(text)

    def tree(self, value: T) -> T:
        """Mask every text in a value. Images, audio and files are left out unless they are allowed."""
        return rewritten(value if self._media else self._readable(value), self.text, _unmasked_fields)

    def _masked(self, text: str) -> str:
        spans = self._finder.find(text)
        if not spans:
            return text
        pieces: list[str] = []
        end = 0
        for span in spans:
            value = plain(span.kind, text[span.start : span.end])
            pieces += [text[end : span.start], self._vault.placeholder(self._user, span.kind, value)]
            end = span.end
        with self._counting:
            self.masked.update(span.kind for span in spans)
        return "".join([*pieces, text[end:]])

    def _readable(self, value: Any) -> Any:
        """Replace parts whose content cannot be searched."""
        if isinstance(value, MediaPart):
            name = value.name or type(value).__name__.removesuffix("Part").lower()
            if isinstance(value, FilePart) and value.text:
                return TextPart(f"{name}:\n{value.text}")
            return TextPart(LEFT_OUT.format(name))
        if isinstance(value, ev.Injected) and value.media:
            shown = tuple(self._readable(part).text for part in value.media)
            return msgspec.structs.replace(value, texts=(*value.texts, *shown), media=())
        if isinstance(value, tuple):
            items: tuple[Any, ...] = value  # pyright: ignore[reportUnknownVariableType]
            changed = tuple(self._readable(item) for item in items)
            return changed if any(a is not b for a, b in zip(items, changed, strict=True)) else items
        if isinstance(value, Struct) and not isinstance(value, Profile):
            fields = {name: getattr(value, name) for name in value.__struct_fields__}
            new = {name: self._readable(old) for name, old in fields.items() if isinstance(old, (tuple, Struct))}
            new = {name: one for name, one in new.items() if one is not fields[name]}
            return msgspec.structs.replace(value, **new) if new else value
        return value  # pyright: ignore[reportUnknownVariableType]

    # ---- on the way out

    def restored(self, text: str) -> str:
        """Replace placeholders by the values they stand for; an unknown one stays."""
        if "[" not in text:
            return text
        return PLACEHOLDER.sub(lambda match: self._vault.value(self._user, match[0]) or match[0], text)

    def restored_tree(self, value: T) -> T:
        return rewritten(value, self.restored, binary_field)

    def unknown(self, value: Any) -> str:
        """Return a placeholder in the value that the vault does not have; empty if there is none."""
        missing: list[str] = []

        def look(text: str) -> str:
            if "[" in text:
                missing.extend(
                    one[0] for one in PLACEHOLDER.finditer(text) if not self._vault.value(self._user, one[0])
                )
            return text

        rewritten(value, look, binary_field)
        return missing[0] if missing else ""


def open_from(text: str) -> int:
    """Return where a placeholder may start that is cut off at the end; the text's length if none does."""
    match = OPEN.search(text, max(0, len(text) - 20))
    return match.start() if match is not None else len(text)


def _unmasked_fields(value: Struct) -> frozenset[str]:
    if isinstance(value, _NAMED):
        return _NO_WORDS_NOR_NAME
    if (binary := binary_field(value)) == "data":
        return _WITH_DATA
    return _WITH_CONTENT if binary else _NO_WORDS
