"""`treadle models`."""

from __future__ import annotations

import argparse
from typing import Any


def register(commands: Any) -> None:
    from treadle._cli.commands import prices

    parser = commands.add_parser(
        "models",
        description="The models that can be used: local ones, those of servers on this machine, those of providers.",
    )
    parts = parser.add_subparsers(dest="part", metavar="PART")
    prices.register(parts)


def run(args: argparse.Namespace) -> int:
    if args.part == "prices":
        from treadle._cli.commands import prices

        return prices.run(args)
    return _list()


def _list() -> int:
    import os

    from treadle._cli.display.table import table
    from treadle._cli.setup.user_config import read_user_config
    from treadle._models.catalog.default import BY_KEY, LOCAL_DEFAULT, SERVERS, choose, running_servers
    from treadle._models.catalog.providers import PROVIDERS
    from treadle._models.local import weights

    choice = choose(None, read_user_config().model)
    print(f"used when none is given: {choice.spec} ({choice.reason})\n")
    local = [
        [
            f"local:{name}",
            f"{entry.size / 1e9:.1f} GB",
            "on this machine" if weights.find(name) else "downloaded on first use",
        ]
        for name, entry in weights.CATALOGUE.items()
    ]
    local += [["local:PATH.gguf", "", "any GGUF file"]]
    print(table(("LOCAL MODEL", "SIZE", "WHERE"), local))
    served = [[f"{provider.name}:{name}"] for provider, names in running_servers() for name in names]
    print(
        "\n"
        + (
            table(("SERVED ON THIS MACHINE",), served)
            if served
            else f"no model server runs on this machine (tried: {', '.join(SERVERS)})"
        )
    )
    rows = [
        [
            provider.name,
            provider.key_env,
            "set" if os.environ.get(provider.key_env) else "-",
            BY_KEY.get(provider.name, ""),
        ]
        for provider in sorted({id(p): p for p in PROVIDERS.values()}.values(), key=lambda p: p.name)
        if provider.needs_key
    ]
    print("\n" + table(("PROVIDER", "KEY", "", "DEFAULT MODEL"), rows))
    print(f"\nwithout a key or a server, {LOCAL_DEFAULT} is used; scripted:FILE replays replies from a file")
    return 0
