"""Store what the user of this machine has accepted: folders with instructions, skills by their content, and what the
tools of MCP servers do.

One file, for its owner only. Nothing is trusted by default, and nothing is trusted when the file cannot be relied on.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from msgspec import Struct, json, structs

from treadle._safety.data import DataError, decode_json, read_text
from treadle._types.errors import ConfigError
from treadle._types.paths import state_folder, write_private

_MOST_DECLINED = 1_000
Standing = Literal["accepted", "changed", "new"]


Kind = Literal["reads", "changes safely", "changes", "sends"]
"""What a person says that a tool does. `changes safely`: doing it twice is the same as doing it once."""


class ServerReview(Struct, frozen=True, forbid_unknown_fields=True):
    """What a person said about the tools of an MCP server, and a hash of what they saw."""

    digest: str
    tools: dict[str, Kind] = {}


class _Trusted(Struct, frozen=True, forbid_unknown_fields=True):
    folders: tuple[str, ...] = ()
    skills: dict[str, str] = {}
    """The hash that was accepted, by the folder of the skill."""
    declined: tuple[str, ...] = ()
    """Folders, and hashes of skills, that the user does not want to be asked about again."""
    servers: dict[str, ServerReview] = {}
    """Reviews of MCP servers, by their names."""


class TrustStore:
    """Reads its file each time: another process may have changed it."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or state_folder() / "trust.json"

    def folders(self) -> tuple[str, ...]:
        return self._read().folders

    def trusts_folder(self, folder: str | os.PathLike[str]) -> bool:
        """Return whether the user has trusted exactly this folder; one inside it may come from somebody else."""
        return os.path.realpath(folder) in self._read().folders

    def trust_folder(self, folder: str | os.PathLike[str]) -> str:
        path = os.path.realpath(folder)
        trusted = self._read()
        if path not in trusted.folders:
            declined = tuple(other for other in trusted.declined if other != path)
            self._write(structs.replace(trusted, folders=(*trusted.folders, path), declined=declined))
        return path

    def declined(self, what: str) -> bool:
        return what in self._read().declined

    def decline(self, what: str) -> None:
        """Do not ask about this folder, or a skill with this hash, again."""
        trusted = self._read()
        self._write(structs.replace(trusted, declined=(*trusted.declined, what)[-_MOST_DECLINED:]))

    def forget(self, path: str | os.PathLike[str]) -> bool:
        """Forget a folder of instructions or of a skill; return whether it was stored."""
        gone = os.path.realpath(path)
        trusted = self._read()
        if gone not in trusted.folders and gone not in trusted.skills:
            return False
        folders = tuple(folder for folder in trusted.folders if folder != gone)
        skills = {folder: digest for folder, digest in trusted.skills.items() if folder != gone}
        self._write(structs.replace(trusted, folders=folders, skills=skills))
        return True

    def skill(self, path: str | os.PathLike[str], digest: str) -> Standing:
        """Compare a skill with what was accepted: by content anywhere, or `changed` if this folder had another."""
        skills = self._read().skills
        if digest in skills.values():
            return "accepted"
        return "changed" if os.path.realpath(path) in skills else "new"

    def accept_skill(self, path: str | os.PathLike[str], digest: str) -> None:
        trusted = self._read()
        self._write(structs.replace(trusted, skills={**trusted.skills, os.path.realpath(path): digest}))

    def server(self, name: str) -> ServerReview | None:
        return self._read().servers.get(name)

    def accept_server(self, name: str, review: ServerReview) -> None:
        trusted = self._read()
        self._write(structs.replace(trusted, servers={**trusted.servers, name: review}))

    def _read(self) -> _Trusted:
        try:
            state = self.path.stat()
            text = read_text(self.path)
        except FileNotFoundError:
            return _Trusted()
        except (OSError, DataError) as error:
            raise ConfigError(f"what you have trusted cannot be read from {self.path}: {error}") from None
        if hasattr(os, "getuid") and (state.st_uid != os.getuid() or state.st_mode & 0o022):
            raise ConfigError(f"{self.path} is not yours alone, so it is not relied on: remove it, and trust again")
        try:
            return decode_json(text, _Trusted)
        except DataError as error:
            raise ConfigError(f"{self.path} cannot be read ({error}): remove it, and trust again") from None

    def _write(self, trusted: _Trusted) -> None:
        try:
            write_private(self.path, json.format(json.encode(trusted)))
        except OSError as error:
            raise ConfigError(f"what you trust cannot be remembered in {self.path}: {error.strerror}") from None
