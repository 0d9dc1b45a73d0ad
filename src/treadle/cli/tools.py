"""`treadle tools`."""

from __future__ import annotations

import argparse
from typing import Any


def register(commands: Any) -> None:
    parser = commands.add_parser("tools", description="The built-in tools; --tools NAME gives them to an agent.")
    parser.add_argument("tools", nargs="*", metavar="NAME", help="show what the model is told of these (also module:name)")


def run(args: argparse.Namespace) -> int:
    import inspect
    from importlib import import_module

    from treadle.cli import toolbox
    from treadle.cli.table import table
    from treadle.cli.words import clean, plain_json
    from treadle.tools.builtin import BUILTINS
    from treadle.tools.toolkit import Toolkit

    if args.tools:
        for tool in Toolkit(toolbox.find_tools(args.tools)):
            print(f"{tool.name} ({tool.effect}, {'asks first' if tool.approval == 'ask' else tool.approval})\n  {clean(tool.description)}")
            print(f"  {clean(plain_json(tool.parameters))}")
        return 0
    rows: list[list[str]] = []
    for name, line in sorted({**BUILTINS, **toolbox.HERE}.items()):
        factory = None if name in toolbox.HERE else getattr(import_module(f"treadle.tools.builtin.{name}"), name)
        params = ", ".join(inspect.signature(factory).parameters) if factory else ""
        rows.append([name, "yes" if name in toolbox.DEFAULT else "", params, line])
    print(table(("TOOL", "DEFAULT", "PARAMETERS", "WHAT IT DOES"), rows, stretch=2))
    print('\nwith parameters: --tools "sql,url=sqlite:///shop.db"; your own: --tools module:name or --tools file.py:name')
    return 0
