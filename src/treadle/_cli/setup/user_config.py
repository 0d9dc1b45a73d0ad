"""The user's own defaults: `config.toml` in the place this system has for it, or the file `$TREADLE_CONFIG` names."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

from treadle._types.errors import ConfigError


class UserFile(Struct, frozen=True, forbid_unknown_fields=True):
    model: str = ""
    preset: str = ""
    tools: tuple[str, ...] = ()
    journal: str = ""
    system: str = ""
    settings: dict[str, object] = {}


def user_file_path() -> Path:
    if given := os.environ.get("TREADLE_CONFIG"):
        return Path(given).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "treadle" / "config.toml"


def read_user_file() -> UserFile:
    """What the file says; nothing when there is none."""
    path = user_file_path()
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        if os.environ.get("TREADLE_CONFIG"):
            raise ConfigError(f"TREADLE_CONFIG names {path}, which is not there") from None
        return UserFile()
    except OSError as error:
        raise ConfigError(f"the config file {path} cannot be read: {error.strerror}") from None
    import tomllib

    try:
        return msgspec.convert(tomllib.loads(text), UserFile)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        known = ", ".join(UserFile.__struct_fields__)
        raise ConfigError(f"the config file {path} cannot be used: {error}; it may have: {known}") from None
