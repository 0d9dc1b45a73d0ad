"""Adapters: what a small model was taught about using tools, as a GGUF file beside its weights (see `training/`)."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from treadle._models.local.gguf import texts_of
from treadle._types.errors import ConfigError
from treadle._types.profile import ADAPTER_FORMAT


class Adapter(Struct, frozen=True):
    name: str
    path: str


def read_adapter(given: str | os.PathLike[str]) -> Adapter:
    """The adapter in a file. One that was trained on another form of prompts is refused: it would do harm."""
    path = Path(given).expanduser()
    try:
        texts = texts_of(path)
    except OSError as error:
        raise ConfigError(f"cannot read the adapter {path}: {error.strerror}") from None
    if texts.get("adapter.type") != "lora":
        raise ConfigError(f"{path} is not an adapter (a GGUF file with adapter.type lora)")
    if texts.get("treadle.format") != ADAPTER_FORMAT:
        raise ConfigError(
            f"the adapter {path} was trained on another form of prompts ({texts.get('treadle.format') or 'not said'}; "
            f"this version writes {ADAPTER_FORMAT}): train it again, see training/README.md, or use adapter=None"
        )
    return Adapter(texts.get("general.name") or path.stem, str(path.resolve()))
