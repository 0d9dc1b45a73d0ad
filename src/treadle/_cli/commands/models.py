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
    parts.add_parser("list", help="the models that can be used")
    for name, text in (("pull", "download models now"), ("remove", "delete downloaded models")):
        part = parts.add_parser(name, help=text)
        part.add_argument("names", nargs="+", metavar="NAME", help="like qwen3-4b, or hf:ORG/REPO/FILE.gguf")


def run(args: argparse.Namespace) -> int:
    if args.part == "prices":
        from treadle._cli.commands import prices

        return prices.run(args)
    if args.part == "pull":
        return _pull(args.names)
    if args.part == "remove":
        return _remove(args.names)
    return _list()


def _pull(names: list[str]) -> int:
    from treadle._local.weights import weights

    for name in names:
        path = weights.ensure(name.removeprefix("local:"))
        print(f"{name}: {path} ({path.stat().st_size / 1e9:.2f} GB)")
    return 0


def _remove(names: list[str]) -> int:
    from treadle._local.weights import weights

    for name in names:
        size = weights.remove(name.removeprefix("local:"))
        print(f"{name}: {size / 1e9:.2f} GB deleted" if size else f"{name}: it is not on this machine")
    return 0


def _list() -> int:
    import os

    from treadle._cli.display.table import table
    from treadle._cli.setup.user_config import read_user_config
    from treadle._local.weights import hub, weights
    from treadle._local.weights.recommended import CHOICES
    from treadle._models.catalog.default import BY_KEY, SERVERS, choose, local_default, running_servers
    from treadle._models.catalog.providers import PROVIDERS

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
    local += [
        [
            f"local:{choice.name}",
            f"~{choice.gigabytes:.1f} GB, {choice.billions:g} B, {choice.licence}",
            "on this machine" if weights.find(choice.name) else choice.can,
        ]
        for choice in CHOICES.values()
    ]
    known = {choice.repo for choice in CHOICES.values()}
    local += [
        [f"local:hf:{entry.repo}/{entry.file}", f"{entry.size / 1e9:.1f} GB", "on this machine"]
        for _, entry in hub.notes(weights.models_folder())
        if entry.repo not in known
    ]
    local += [["local:hf:ORG/REPO", "", "any GGUF repository of the hub"], ["local:PATH.gguf", "", "any GGUF file"]]
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
    print(f"\nwithout a key or a server, {local_default()} is used; scripted:FILE replays replies from a file")
    return 0
