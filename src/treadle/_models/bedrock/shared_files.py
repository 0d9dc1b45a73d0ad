"""Amazon's shared files: the profiles in `~/.aws/config` and `~/.aws/credentials`, and the cached sign-in tokens."""

from __future__ import annotations

import configparser
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from treadle._types.errors import ConfigError


class SharedFiles:
    """The profiles of both files, read once. A missing file has none."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        env = os.environ if env is None else env
        self._profiles: dict[str, dict[str, str]] = {}
        self._sessions: dict[str, dict[str, str]] = {}
        self.folder = Path("~/.aws").expanduser()
        self.default = env.get("AWS_PROFILE") or env.get("AWS_DEFAULT_PROFILE") or "default"
        for section, values in _read(env.get("AWS_CONFIG_FILE") or self.folder / "config").items():
            kind, _, name = section.partition(" ")
            if kind == "sso-session" and name:
                self._sessions[name.strip()] = values
            elif kind == "profile" and name:
                self._profiles[name.strip()] = values
            elif section == "default":
                self._profiles.setdefault(section, {}).update(values)
        # Keys in the file for keys win.
        for section, values in _read(env.get("AWS_SHARED_CREDENTIALS_FILE") or self.folder / "credentials").items():
            self._profiles.setdefault(section, {}).update(values)

    def profile(self, name: str) -> dict[str, str]:
        return self._profiles.get(name, {})

    def session(self, name: str) -> dict[str, str]:
        return self._sessions.get(name, {})

    @property
    def names(self) -> list[str]:
        return sorted(self._profiles)

    def sign_in_token(self, key: str) -> dict[str, Any]:
        """The token that `aws sso login` has stored for a session's name or a start URL; empty without one."""
        path = self.folder / "sso" / "cache" / f"{hashlib.sha1(key.encode(), usedforsecurity=False).hexdigest()}.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        except (OSError, msgspec.MsgspecError, UnicodeError):
            return {}


def _read(path: str | Path) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser(default_section="\0", strict=False, inline_comment_prefixes=(" #", " ;"))
    try:
        parser.read_string(Path(path).expanduser().read_text("utf-8"))
    except OSError:
        return {}
    except (configparser.Error, UnicodeError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"the AWS file {path} cannot be read: {reason}; correct it or set AWS_CONFIG_FILE") from None
    return {section: dict(parser[section]) for section in parser.sections()}
