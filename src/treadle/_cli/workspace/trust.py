"""`treadle trust`: the folders whose AGENTS.md may be read."""

from __future__ import annotations

import argparse
from typing import Any

from treadle._cli.display.text import clean
from treadle._cli.setup.options import flag
from treadle._safety.trust import TrustStore
from treadle._types.errors import ConfigError


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "trust",
        description="Trust a folder: agents at the terminal read its AGENTS.md from then on. "
        "It holds for this folder alone, not for those inside it.",
    )
    parser.add_argument("folder", nargs="?", metavar="FOLDER", help="the folder to trust")
    flag(parser, "--list", help="list the trusted folders")
    parser.add_argument("--forget", metavar="PATH", help="forget a trusted folder, or an accepted skill")


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    trust = TrustStore()
    if args.forget:
        if not trust.forget(Path(args.forget).expanduser()):
            raise ConfigError(f"{args.forget} was not trusted: treadle trust --list shows what is")
        print(clean(f"{args.forget} is no longer trusted"))
    elif args.folder:
        folder = Path(args.folder).expanduser()
        if not folder.is_dir():
            raise ConfigError(f"there is no folder {folder}")
        print(clean(f"trusted: {trust.trust_folder(folder)}"))
    elif args.list:
        for folder in trust.folders():
            print(clean(folder))
    else:
        raise ConfigError("which folder? treadle trust . trusts this one; treadle trust --list lists those you trust")
    return 0
