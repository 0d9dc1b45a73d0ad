"""Prices and windows as data: the list that comes with the package, and one that the user has put above it.

A list has a date and a source. Prices are US dollars per million tokens, and per search.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle._safety.data import DataError, InvalidDataError, decode_json, read_text
from treadle._safety.logs import get_logger
from treadle._types.errors import ConfigError
from treadle._types.paths import state_folder, write_private
from treadle._types.profile import Prices, Profile

log = get_logger(__name__)
MAX_LIST = 16 * 1024 * 1024
_BUILT_IN = Path(__file__).with_name("prices.json")
_VERSION = re.compile(r"[-@:.](?:v?\d|latest|preview|exp|it\b)")
"""How the name of one version of a model goes on after the model's name."""


class Entry(Struct, frozen=True, omit_defaults=True):
    """The prices and token limits of one model; None where the list does not say."""

    input: float | None = None
    output: float | None = None
    cached: float | None = None
    cache_write: float | None = None
    search: float | None = None
    """One web search of the provider's own, in dollars."""
    window: int | None = None
    max_output: int | None = None

    def __post_init__(self) -> None:
        if (self.input is None) != (self.output is None):
            raise ValueError("a price needs both input and output")
        for name in ("window", "max_output"):
            if (tokens := getattr(self, name)) is not None and tokens < 1:
                raise ValueError(f"{name} must be at least 1")
        self.prices()

    def prices(self) -> Prices | None:
        if self.input is None or self.output is None:
            return None
        return Prices(self.input, self.output, self.cached, self.cache_write, self.search)

    def applied(self, profile: Profile) -> Profile:
        """The profile with what this entry says."""
        changes = {"prices": self.prices(), "window": self.window, "max_output": self.max_output}
        return msgspec.structs.replace(profile, **{name: value for name, value in changes.items() if value is not None})


class PriceList(Struct, frozen=True):
    """`models` are patterns in the list of the package, names in that of a user."""

    date: str
    source: str
    models: dict[str, Entry]


@cache
def built_in_prices() -> PriceList:
    return msgspec.json.decode(_BUILT_IN.read_bytes(), type=PriceList)


def updated_path() -> Path:
    return state_folder() / "prices.json"


def updated_prices() -> PriceList | None:
    """The user's own list. One that cannot be read is ignored with a warning: a run does not need it."""
    try:
        path = updated_path()
        return _read(str(path), path.stat().st_mtime_ns)
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError, DataError) as error:  # RuntimeError: a user without a home folder
        log.warning("the stored prices cannot be used (%s); run treadle models prices --update or --reset", error)
        return None


@lru_cache(maxsize=2)
def _read(path: str, changed: int) -> PriceList:
    return decode_json(read_text(Path(path), MAX_LIST), PriceList)


def updated_entry(provider: str, name: str, *, own: bool) -> Entry | None:
    """Look a model up in the user's list: by `provider:model`, and on its owner's own server by its name alone. A
    name without a version stands for all versions of the model."""
    listed = updated_prices()
    if listed is None:
        return None
    keys = [(f"{provider}:", name), (f"{provider}/", name)]
    if own:
        plain = re.sub(r"^(?:\w{2,6}\.)?(?:anthropic|amazon|meta|mistral|openai)[./]", "", name)
        keys += [("", name), ("", plain)]
    for prefix, key in keys:
        left = key.lower()
        while left:
            if entry := listed.models.get(prefix + left):
                return entry
            cuts = [match.start() for match in _VERSION.finditer(left)]
            left = left[: cuts[-1]] if cuts else ""
    return None


def read_list(data: bytes, source: str, date: str) -> PriceList:
    """A list from a file: this package's own form, or LiteLLM's, which gives prices per token."""
    try:
        value: Any = decode_json(data, dict[str, Any])
        if "models" in value:
            listed = msgspec.convert({"source": source, "date": date, **value}, PriceList)
            models = {name.lower(): entry for name, entry in listed.models.items()}
            return PriceList(listed.date, listed.source, models)
        models = {str(name).lower(): entry for name, fields in value.items() if (entry := _per_token(fields))}
    except (DataError, msgspec.ValidationError, ConfigError) as error:
        kind = "does not fit" if isinstance(error, InvalidDataError | msgspec.ValidationError) else "cannot be read"
        raise ConfigError(f"the list of prices {source} {kind}: {error}") from None
    if not models:
        raise ConfigError(f"the list of prices {source} has no models: it needs 'models', or LiteLLM's form")
    return PriceList(date, source, models)


def _per_token(fields: Any) -> Entry | None:
    """An entry of LiteLLM's list; None for what is not a model that writes text."""
    values = cast("dict[str, Any]", fields) if isinstance(fields, dict) else {}
    read, wrote = values.get("input_cost_per_token"), values.get("output_cost_per_token")
    if not isinstance(read, int | float) or not isinstance(wrote, int | float):
        return None
    names = {"cached": "cache_read_input_token_cost", "cache_write": "cache_creation_input_token_cost"}
    more = {ours: _million(values[theirs]) for ours, theirs in names.items() if _number(values.get(theirs))}
    sizes = {"window": "max_input_tokens", "max_output": "max_output_tokens"}
    counts = {ours: int(values[theirs]) for ours, theirs in sizes.items() if _number(values.get(theirs))}
    searched = values.get("search_context_cost_per_query")
    search = cast("dict[str, Any]", searched).get("search_context_size_medium") if isinstance(searched, dict) else None
    fee = {"search": search} if _number(search) else {}
    return msgspec.convert({"input": _million(read), "output": _million(wrote), **more, **fee, **counts}, Entry)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _million(price: float) -> float:
    return round(price * 1_000_000, 9)


def store(listed: PriceList) -> Path:
    """Put a list above the built-in one."""
    path = updated_path()
    write_private(path, msgspec.json.format(msgspec.json.encode(listed), indent=1) + b"\n")
    return path
