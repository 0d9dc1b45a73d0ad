"""`treadle models`: lists, downloads and removes models; shows and updates the list of prices."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from treadle._cli.display.table import table
from treadle._cli.setup.options import flag
from treadle._types.errors import ConfigError


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "models",
        description="The models that can be used: local ones, those of servers on this machine, those of providers.",
    )
    parts = parser.add_subparsers(dest="part", metavar="PART")
    prices = parts.add_parser("prices", help="show what models cost, with date and source, or update the list")
    prices.add_argument("model", nargs="*", help="models to show, as provider:model")
    line = "use another list, in dollars per million tokens, or LiteLLM's"
    prices.add_argument("--update", metavar="FILE_OR_URL", help=line)
    flag(prices, "--reset", help="use the built-in list only")
    parts.add_parser("list", help="the models that can be used")
    parts.add_parser("stop", help="end the local models that stay loaded for the next command")
    for name, text in (("pull", "download models now"), ("remove", "delete downloaded models")):
        part = parts.add_parser(name, help=text)
        part.add_argument("names", nargs="+", metavar="NAME", help="like qwen3-4b, or hf:ORG/REPO/FILE.gguf")


def run(args: argparse.Namespace) -> int:
    if args.part == "prices":
        return _prices(args)
    if args.part == "pull":
        return _pull(args.names)
    if args.part == "stop":
        return _stop()
    if args.part == "remove":
        return _remove(args.names)
    return _list()


def _pull(names: list[str]) -> int:
    from treadle._local.weights import weights

    for name in names:
        path = weights.ensure(name.removeprefix("local:"))
        print(f"{name}: {path} ({path.stat().st_size / 1e9:.2f} GB)")
    return 0


def _stop() -> int:
    from treadle._local.runtime.lease import end_all

    print(f"{end_all()} ended")
    return 0


def _remove(names: list[str]) -> int:
    from treadle._local.weights import weights

    for name in names:
        size = weights.remove(name.removeprefix("local:"))
        print(f"{name}: {size / 1e9:.2f} GB deleted" if size else f"{name}: it is not on this machine")
    return 0


def _list() -> int:
    import os

    from treadle._cli.setup.user_config import read_user_config
    from treadle._local.weights import hub, weights
    from treadle._local.weights.recommended import CHOICES
    from treadle._models.catalog.default import BY_KEY, SERVERS, choose, local_default, running_servers
    from treadle._models.catalog.providers import PROVIDERS

    choice = choose(None, read_user_config().model)
    print(f"used when none is given: {choice.spec} ({choice.reason})\n")
    local: list[list[str]] = []
    for name, entry in weights.CATALOGUE.items():
        where = "on this machine" if weights.find(name) else "downloaded on first use"
        local.append([f"local:{name}", f"{entry.size / 1e9:.1f} GB", where])
    for open_model in CHOICES.values():
        size = f"~{open_model.gigabytes:.1f} GB, {open_model.billions:g} B, {open_model.licence}"
        where = "on this machine" if weights.find(open_model.name) else open_model.can
        local.append([f"local:{open_model.name}", size, where])
    listed = {open_model.repo for open_model in CHOICES.values()}
    local += [
        [f"local:hf:{entry.repo}/{entry.file}", f"{entry.size / 1e9:.1f} GB", "on this machine"]
        for _, entry in hub.notes(weights.models_folder())
        if entry.repo not in listed
    ]
    local += [["local:hf:ORG/REPO", "", "any GGUF repository of the hub"], ["local:PATH.gguf", "", "any GGUF file"]]
    print(table(("LOCAL MODEL", "SIZE", "WHERE"), local))
    served = [[f"{provider.name}:{name}"] for provider, names in running_servers() for name in names]
    none = f"no model server runs on this machine (tried: {', '.join(SERVERS)})"
    print("\n" + (table(("SERVED ON THIS MACHINE",), served) if served else none))
    rows: list[list[str]] = []
    for provider in sorted({id(p): p for p in PROVIDERS.values()}.values(), key=lambda p: p.name):
        if provider.needs_key:
            key = "set" if os.environ.get(provider.key_env) else "-"
            rows.append([provider.name, provider.key_env, key, BY_KEY.get(provider.name, "")])
    print("\n" + table(("PROVIDER", "KEY", "", "DEFAULT MODEL"), rows))
    print(f"\nwithout a key or a server, {local_default()} is used; scripted:FILE replays replies from a file")
    return 0


def _prices(args: argparse.Namespace) -> int:
    from treadle._models.catalog.prices import built_in_prices, store, updated_path, updated_prices

    if args.reset:
        updated_path().unlink(missing_ok=True)
        print("the built-in list is used")
    if args.update:
        listed = _load_prices(args.update)
        print(f"{len(listed.models)} models stored in {store(listed)}")
    for listed in (updated_prices(), built_in_prices()):
        if listed is not None:
            print(f"prices of {listed.date}, {len(listed.models)} entries, from {listed.source}")
    if args.model:
        print(_price_table(args.model))
    return 0


def _load_prices(place: str) -> Any:
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


def _price_table(models: list[str]) -> str:
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
