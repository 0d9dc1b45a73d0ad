"""`treadle tools`."""

from __future__ import annotations

import argparse
from typing import Any


def register(commands: Any) -> None:
    parser = commands.add_parser("tools", description="The built-in tools; --tools NAME gives them to an agent.")
    parser.add_argument(
        "tools", nargs="*", metavar="NAME", help="show what the model is told of these (also module:name)"
    )


def run(args: argparse.Namespace) -> int:
    from treadle._cli.display.table import table
    from treadle._cli.setup import toolbox
    from treadle._tools.builtin import BUILTINS

    if args.tools:
        return _describe(args.tools)
    rows = [
        [name, "yes" if name in toolbox.DEFAULT else "", line]
        for name, line in sorted({**BUILTINS, **toolbox.HERE}.items())
    ]
    print(table(("TOOL", "DEFAULT", "WHAT IT DOES"), rows))
    print("\ntreadle tools NAME shows its parameters; your own tools: --tools module:name or --tools file.py:name")
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
                p.default is p.empty and p.name not in toolbox.PARAMS.get(name, {})
                for p in inspect.signature(factory).parameters.values()
            ):
                continue  # cannot be made without being told more
        for tool in Toolkit(toolbox.find_tools([name])):
            policy = (
                "asks first"
                if tool.approval == "ask"
                else "denied"
                if tool.approval == "deny"
                else "runs without asking"
            )
            print(
                f"{tool.name}: {clean(tool.description)}\n  {tool.effect}, {policy}\n  {clean(plain_json(tool.parameters))}"
            )
    return 0
