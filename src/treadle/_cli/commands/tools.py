"""`treadle tools`: lists and describes tools."""

from __future__ import annotations

import argparse
from typing import Any

_APPROVAL = {"ask": "asks first", "deny": "denied", "allow": "runs without asking"}


def register(commands: Any) -> None:
    parser = commands.add_parser("tools", description="List the built-in tools, which --tools NAME gives to an agent.")
    line = "describe these tools as the model sees them (also module:name)"
    parser.add_argument("tools", nargs="*", metavar="NAME", help=line)


def run(args: argparse.Namespace) -> int:
    from treadle._cli.display.table import table
    from treadle._cli.display.text import wrapped
    from treadle._cli.setup import toolbox
    from treadle._tools.builtin import BUILTINS

    if args.tools:
        return _describe(args.tools)
    rows = [[name, "yes" if name in toolbox.DEFAULT_TOOLS else "", line] for name, line in sorted(BUILTINS.items())]
    print(table(("TOOL", "DEFAULT", "WHAT IT DOES"), rows))
    hint = "treadle tools NAME describes a tool; use your own with --tools module:name or --tools file.py:name"
    print(wrapped(f"\n{hint}"))
    return 0


def _describe(names: list[str]) -> int:
    import inspect

    from treadle._cli.display.text import clean, plain_json
    from treadle._cli.setup import toolbox
    from treadle._tools.builtin import BUILTINS, builtin_factory
    from treadle._tools.toolkit import Toolkit

    for name in names:
        if name in BUILTINS:
            factory = builtin_factory(name)
            print(f'--tools "{name},PARAMETER=VALUE"\n  {name}{inspect.signature(factory)}')
            if any(
                p.default is p.empty and p.name not in toolbox.DEFAULT_PARAMETERS.get(name, {})
                for p in inspect.signature(factory).parameters.values()
            ):
                continue  # it cannot be made without parameters
        for tool in Toolkit(toolbox.find_tools([name])):
            print(f"{tool.name}: {clean(tool.description)}")
            print(f"  {tool.effect}, {_APPROVAL[tool.approval]}")
            print(f"  {clean(plain_json(tool.parameters))}")
    return 0
