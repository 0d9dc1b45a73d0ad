"""Evaluated system prompts, kept on disk: a later process reads the file in milliseconds in place of the prompt.

Only the beginning that all conversations of an agent share is kept, with rules and tools: no question, no reply. A file
that is missing, damaged or of another model costs the time of reading the prompt, nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treadle._safety.logs import get_logger
from treadle._types.errors import ModelError
from treadle._types.messages import Message, SystemMessage
from treadle._types.paths import cache_folder

log = get_logger(__name__)
LEAST_CHARS = 600
"""Shorter ones are read as fast as they are asked for."""
MAX_FILES, MAX_BYTES = 12, 400_000_000
"""Of all files together; the oldest are deleted first."""

Post = Callable[[str, bytes], Any]
"""Sends a request to the runtime and returns its answer."""


def folder() -> str:
    """Where they are kept, readable by the user alone; empty when that cannot be written: then none are kept."""
    path = cache_folder() / "prompts"
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        log.debug("evaluated prompts are not kept: %s", error)
        return ""
    return str(path) if os.access(path, os.W_OK) else ""


def shared_prefix_of(prompt: str, first: Message | None) -> str:
    """The part of a prompt up to the end of its system message; empty when it is short, or cannot be told."""
    if not isinstance(first, SystemMessage) or len(first.text) < LEAST_CHARS:
        return ""
    at = prompt.find(first.text)
    return prompt[: at + len(first.text)] if at >= 0 else ""


class PromptCache:
    """The files of one loaded model. `made_by` is everything that an evaluated prompt depends on beside its text."""

    def __init__(self, folder: str, made_by: str, post: Post) -> None:
        self._folder = Path(folder)
        self._made_by = made_by
        self._post = post

    def restore(self, slot: int, text: str, tuned: bool) -> bool:
        """Put what is known of a text into a slot; whether there was something."""
        name = self._name(text, tuned)
        if not (self._folder / name).is_file():
            return False
        try:
            self._act(slot, "restore", name)
        except ModelError:
            with contextlib.suppress(OSError):
                (self._folder / name).unlink()  # damaged, or of another version
            return False
        with contextlib.suppress(OSError):
            os.utime(self._folder / name)
        return True

    def save(self, slot: int, text: str, tuned: bool) -> None:
        """Keep what a slot has evaluated, which is this text alone."""
        name = self._name(text, tuned)
        part = f"{name}.{secrets.token_hex(4)}"
        try:
            self._act(slot, "save", part)
            (self._folder / part).chmod(0o600)
            (self._folder / part).replace(self._folder / name)  # whole or not there
        except (OSError, ModelError) as error:
            log.debug("an evaluated prompt is not kept: %s", error)
            with contextlib.suppress(OSError):
                (self._folder / part).unlink()
        self._tidy()

    def _act(self, slot: int, action: str, name: str) -> None:
        self._post(f"/slots/{slot}?action={action}", b'{"filename": "%b"}' % name.encode())

    def _name(self, text: str, tuned: bool) -> str:
        return hashlib.sha256(f"{self._made_by}\n{tuned}\n{text}".encode(errors="surrogatepass")).hexdigest()[:32]

    def _tidy(self) -> None:
        found: list[tuple[float, int, Path]] = []
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                state = path.stat()
                found.append((state.st_mtime, state.st_size, path))
        total = 0
        for count, (_, size, path) in enumerate(sorted(found, reverse=True), 1):
            total += size
            if count > MAX_FILES or total > MAX_BYTES:
                with contextlib.suppress(OSError):
                    path.unlink()
