"""Adapters: what a small model was taught about using tools, as a GGUF file beside its weights (see `lab/README.md`).

Those for the models of the catalogue are data files of a distribution of their own, `treadle-adapters`: it is optional.
They are unpacked into the user's cache when their model is loaded.
"""

from __future__ import annotations

import lzma
import os
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from msgspec import Struct

from treadle._local.dialects.compact import ADAPTER_FORMAT
from treadle._local.weights.files import is_whole, unpack
from treadle._local.weights.gguf import texts_of
from treadle._safety.logs import get_logger
from treadle._types.errors import ConfigError, ModelError
from treadle._types.paths import cache_folder

logger = get_logger(__name__)


class Adapter(Struct, frozen=True):
    name: str
    path: str = ""
    """The file; empty for one of `treadle-adapters` that has not been unpacked."""
    sha256: str = ""
    """Of the unpacked file, for one of `treadle-adapters`."""
    earlier: tuple[str, ...] = ()
    """Names of those before it that were trained on the same form of prompts: a server may still have one."""


TAUGHT = {
    "qwen2.5-coder-0.5b": Adapter(
        "treadle-0.5b-9",
        sha256="2ece78919334aa21a86201bcb045097b1038b6f2c7941c2fe92a55e1eb88e553",
        earlier=("treadle-0.5b-3", "treadle-0.5b-7"),
    ),
    "qwen2.5-coder-1.5b": Adapter(
        "treadle-1.5b-10",
        sha256="b2093ba16a87350ddb35076efe42ad65e399c5931f5981efd856c7cd7a38b6af",
        earlier=("treadle-1.5b-3", "treadle-1.5b-8", "treadle-1.5b-9"),
    ),
}
"""The adapters of `treadle-adapters`, by the model of the catalogue that each was trained for."""
PACKAGE = "treadle_adapters"
INSTALL = "pip install ./packages/treadle-adapters"


def adapter_for(model: str, given: str | os.PathLike[str] | bool | None) -> Adapter | None:
    """Return the adapter to use with a model: the one in a file, the one made for it (`True`), or none."""
    if given is not True:
        return read_adapter(given) if given else None
    if notice := missing_adapter(model):
        logger.warning(notice)
        return None
    return TAUGHT.get(model)


def missing_adapter(model: str) -> str:
    """Say in one line that the adapter made for a model is not installed, and how to install it; else empty."""
    adapter = TAUGHT.get(model)
    if adapter is None or _packed(adapter) is not None:
        return ""
    return f"{model} runs without its adapter and is worse at calling tools; in a clone of Treadle: {INSTALL}"


def unpacked(adapter: Adapter | None) -> str:
    """Return the path of an adapter's file; empty for none. One of `treadle-adapters` is first written to the cache,
    which blocks."""
    if adapter is None or not adapter.sha256:
        return adapter.path if adapter else ""
    path = cache_folder() / "adapters" / f"{adapter.name}-{adapter.sha256[:8]}.gguf"
    if not is_whole(path, adapter.sha256):
        packed = _packed(adapter)
        if packed is None:
            raise _damaged(adapter, "its file is gone")
        try:
            unpack(packed, path, adapter.sha256)
        except (OSError, lzma.LZMAError) as error:
            raise _damaged(adapter, str(error)) from None
    return str(path)


def _packed(adapter: Adapter) -> Traversable | None:
    """Return its compressed file, or None where `treadle-adapters` is not installed or is of another version."""
    try:
        file = files(PACKAGE) / f"{adapter.name}.gguf.xz"
    except ModuleNotFoundError:
        return None
    return file if file.is_file() else None


def _damaged(adapter: Adapter, why: str) -> ModelError:
    return ModelError(
        f"the adapter {adapter.name} cannot be unpacked ({why}): install treadle-adapters again, "
        "or do without it: adapter=False",
        provider="local",
    )


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
            f"this version writes {ADAPTER_FORMAT}): train it again, see lab/README.md, or use adapter=False"
        )
    return Adapter(texts.get("general.name") or path.stem, str(path.resolve()))
