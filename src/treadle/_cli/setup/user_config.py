"""The user's defaults: `config.toml` in the configuration folder of this system, or the file in `$TREADLE_CONFIG`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

from treadle._safety.data import DataError, decode_toml, read_text
from treadle._types.errors import ConfigError


class UserConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Defaults of the terminal program."""

    model: str = ""
    """The model: `openai:gpt-5-mini`, `ollama:llama3.2`."""
    preset: str = ""
    """The preset: `strict`."""
    tools: tuple[str, ...] = ()
    """Tools as `--tools` takes them: built-ins with or without parameters, `module:name`, `file.py:name`."""
    journal: str = ""
    """Where runs are stored, as `--journal` takes it."""
    system: str = ""
    """The system prompt."""
    settings: dict[str, object] = {}
    """Any setting by its name, as `--set` takes it."""


def user_config_path() -> Path:
    if override := os.environ.get("TREADLE_CONFIG"):
        return Path(override).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "treadle" / "config.toml"


def read_user_config() -> UserConfig:
    """Read the file; the defaults when there is none."""
    path = user_config_path()
    try:
        text = read_text(path)
    except FileNotFoundError:
        if os.environ.get("TREADLE_CONFIG"):
            raise ConfigError(f"TREADLE_CONFIG is {path}, but there is no such file") from None
        return UserConfig()
    except OSError as error:
        raise ConfigError(f"cannot read the config file {path}: {error.strerror}") from None
    except DataError as error:
        raise ConfigError(f"cannot read the config file {path}: {error}") from None
    try:
        return msgspec.convert(decode_toml(text), UserConfig)
    except (DataError, msgspec.ValidationError) as error:
        fields = ", ".join(UserConfig.__struct_fields__)
        raise ConfigError(f"the config file {path} is invalid: {error}; expected fields: {fields}") from None
