"""`treadle models prices`: what models cost, since when it is known and from where; another list in its place."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from treadle._types.errors import ConfigError


def register(parts: Any) -> None:
    parser = parts.add_parser("prices", help="show what models cost, with date and source, or update the list")
    parser.add_argument("model", nargs="*", help="models to show, as provider:model")
    parser.add_argument(
        "--update",
        metavar="FILE_OR_URL",
        help="use another list: {date, source, models: {name: {input, output, cached, window}}} in dollars per million "
        "tokens, or LiteLLM's model_prices_and_context_window.json",
    )
    parser.add_argument("--reset", action="store_true", help="use the built-in list only")


def run(args: argparse.Namespace) -> int:
    from treadle._models.catalog.prices import built_in_prices, store, updated_path, updated_prices

    if args.reset:
        updated_path().unlink(missing_ok=True)
        print("the built-in list is used")
    if args.update:
        listed = _load(args.update)
        print(f"{len(listed.models)} models stored in {store(listed)}")
    for listed in (updated_prices(), built_in_prices()):
        if listed is not None:
            print(f"prices of {listed.date}, {len(listed.models)} entries, from {listed.source}")
    if args.model:
        print(_shown(args.model))
    return 0


def _load(place: str) -> Any:
    from datetime import UTC, datetime

    from treadle._models.catalog.prices import MAX_LIST, read_list
    from treadle._safety.data import DataError, read_text

    today = datetime.now(UTC).date().isoformat()
    if place.startswith(("http://", "https://")):
        return read_list(_fetch(place, MAX_LIST), place, today)
    try:
        data = read_text(Path(place).expanduser(), MAX_LIST).encode()
    except (OSError, DataError) as error:
        raise ConfigError(f"the list of prices {place} cannot be read: {error}") from None
    return read_list(data, place, today)


def _fetch(url: str, largest: int) -> bytes:
    import asyncio

    from treadle._models.transport.failures import Origin
    from treadle._models.transport.side_requests import failure, send

    async def main() -> bytes:
        origin = Origin("prices", url)
        answered = await send(origin, "GET", url, largest=largest)
        if not answered.ok:
            raise failure(origin, answered)
        return answered.body

    return asyncio.run(main())


def _shown(models: list[str]) -> str:
    from treadle._cli.display.table import table
    from treadle._models.catalog.profiles import profile_for
    from treadle._models.catalog.providers import provider_named

    rows: list[list[str]] = []
    for spec in models:
        provider, _, name = spec.partition(":")
        profile = profile_for(provider_named(provider), name)
        prices = profile.prices
        costs = [prices.input, prices.output, prices.cached, prices.cache_write] if prices else [None] * 4
        shown = ["?" if prices is None else "-" if cost is None else f"${cost:g}" for cost in costs]
        rows.append([spec, *shown, f"{profile.window:,}" if profile.window else "?"])
    return "\n" + table(("MODEL", "INPUT", "OUTPUT", "CACHED", "CACHE WRITE", "WINDOW"), rows)
