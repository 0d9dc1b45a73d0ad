"""Messages as the user types them: with history, editing and completion on a terminal, line by line from a pipe."""

from __future__ import annotations

import importlib.util
import os
import select
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from treadle._cli.display.ansi import capable, colours
from treadle._engine.core.redaction import event_redactor
from treadle._types.paths import state_folder

_HISTORY_LENGTH = 1000
_PASTE_SECONDS = 0.03
"""Another line within this time was pasted, not typed."""

Complete = Callable[[str, str], list[str]]
"""What can stand in place of the last word of a line: given the line up to the cursor, and that word."""


class Reader:
    """A message ends with its line, unless the line ends with a backslash or more lines were pasted with it."""

    def __init__(self, complete: Complete | None = None) -> None:
        self.terminal = sys.stdin.isatty()
        self._history = state_folder() / "chat_history"
        self._readline: Any = _readline() if self.terminal else None
        if self._readline is not None:
            self._readline.set_history_length(_HISTORY_LENGTH)
            with suppress(OSError):
                self._readline.read_history_file(self._history)
            if complete is not None:
                self._complete_with(complete)

    def read(self, typed: str = "") -> str | None:
        """Read the next message; None at the end of the input. `typed` was typed before the prompt appeared."""
        lines: list[str] = []
        while True:
            line = self._line("… " if lines else "> ", typed)
            typed = ""
            if line is None:
                return "\n".join(lines) if lines else None
            if line.endswith("\\"):
                lines.append(line[:-1])
                continue
            lines.append(line)
            if not (self.terminal and _more_was_pasted()):
                return "\n".join(lines).strip("\n")

    def close(self) -> None:
        """Save the history, readable by nobody else and without lines that have a secret in them."""
        if self._readline is None:
            return
        with suppress(OSError):
            self._history.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(self._history, os.O_WRONLY | os.O_CREAT, 0o600))  # private before there is anything in it
            self._history.chmod(0o600)
            self._readline.write_history_file(self._history)

    def _forget_secrets(self) -> None:
        """Remove the last line from the history where it has a secret: people paste keys by mistake."""
        last = self._readline.get_current_history_length()
        line = self._readline.get_history_item(last) or ""
        if line and event_redactor().text(line) != line:
            self._readline.remove_history_item(last - 1)

    def _complete_with(self, complete: Complete) -> None:
        readline = self._readline
        matches: list[str] = []

        def completer(word: str, state: int) -> str | None:
            if state == 0:
                matches[:] = complete(readline.get_line_buffer()[: readline.get_endidx()], word)
            return matches[state] if state < len(matches) else None

        readline.set_completer_delims(" \t\n")
        readline.set_completer(completer)
        readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")

    def bind(self, key: str, line: str) -> None:
        """Have a key, as GNU readline names it, enter a line in place of what has been typed."""
        if self._readline is not None and "libedit" not in (self._readline.__doc__ or ""):
            self._readline.parse_and_bind(f'"{key}": "\\C-e\\C-u{line}\\C-m"')

    def _line(self, prompt: str, typed: str) -> str | None:
        if not self.terminal:
            line = sys.stdin.readline()
            return line.rstrip("\n") if line else None
        if self._readline is not None and typed:
            self._readline.set_startup_hook(lambda: self._readline.insert_text(typed))
        try:
            line = input(self._coloured(prompt))
        except EOFError:
            return None
        finally:
            if self._readline is not None:
                self._readline.set_startup_hook(None)
        if self._readline is not None:
            self._forget_secrets()
        return line

    def _coloured(self, prompt: str) -> str:
        if self._readline is None or not colours(sys.stdout):
            return prompt
        # The control characters tell the line editor that the colour codes have no width.
        return f"\x01\x1b[1;32m\x02{prompt}\x01\x1b[0m\x02"


def _readline() -> Any:
    if importlib.util.find_spec("readline") is None:
        return None
    import readline

    with suppress(Exception):  # a replacement of GNU readline may not support it
        readline.parse_and_bind(f"set enable-bracketed-paste {'on' if capable(sys.stdout) else 'off'}")
    return readline


def _more_was_pasted() -> bool:
    """Return whether the next line is available already."""
    if sys.platform == "win32":
        return False
    return bool(select.select([sys.stdin], [], [], _PASTE_SECONDS)[0])
