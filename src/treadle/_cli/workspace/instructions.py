"""Reads AGENTS.md: instructions of the user, and of the working folder where the user has trusted it.

In the usual order: the user's own file, then those from the root of the repository down to this folder. Where two
differ, the later one counts more, and what the user says counts most.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from treadle._cli.display.text import one_line
from treadle._cli.setup.user_config import user_config_path
from treadle._cli.workspace.skill_lookup import project_folders
from treadle._safety.hidden import hidden_text
from treadle._safety.trust import TrustStore
from treadle._tools.builtin.workfolder import WorkFolder
from treadle._types.errors import ConfigError, ToolError

FILE = "AGENTS.md"
MAX_BYTES = 32_768
_FRAME = re.compile(r"<(?=[\s/]*instructions)", re.IGNORECASE)
_INTRODUCTION = (
    "What follows was written for agents, by the user or for the folder they work in. Where two of these texts differ, "
    "the later one counts more; what the user asks for counts most."
)


class InstructionFile(Struct, frozen=True):
    path: str
    trusted: bool


def own_file() -> str:
    """Return the path of the user's own instructions, for agents in every folder."""
    return os.path.abspath(user_config_path().parent / FILE)


def instruction_files() -> list[InstructionFile]:
    """List every file, in the order in which they are read."""
    trust, own = TrustStore(), own_file()
    files = [InstructionFile(own, trusted=True)] if os.path.isfile(own) else []
    for folder in reversed(project_folders(Path.cwd())):
        path = str(folder / FILE)
        if os.path.lexists(path) and (path != own or not files):
            files.append(InstructionFile(path, trust.trusts_folder(folder)))
    return files


def read_instructions(path: str) -> str:
    """Read a file. A link is not followed: it could lead to any file of the user's."""
    file = Path(path)
    if not file.parent.is_dir():
        raise ConfigError(f"{path} cannot be read: there is no such folder")
    try:
        text = WorkFolder(file.parent).read((file.name,), MAX_BYTES).decode("utf-8-sig").strip()
    except ToolError as error:
        raise ConfigError(f"{path} is not read: {error}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not read: it is not UTF-8 ({error.reason} at byte {error.start})") from None
    if hidden := hidden_text(text):
        raise ConfigError(f"{path} is not read: {hidden}")
    return text


def instructions_text(paths: Iterable[str]) -> str:
    """Join the texts of these files for the system prompt, each under its name."""
    texts: list[str] = []
    for path in paths:
        if text := read_instructions(path):
            whose = "of the user" if path == own_file() else f"for {one_line(path, 200)}"
            inner = _FRAME.sub("&lt;", text)  # a file cannot end its own frame and begin one of the user's
            texts.append(f"<instructions {whose}>\n{inner}\n</instructions>")
    return "\n\n".join((_INTRODUCTION, *texts)) if texts else ""
