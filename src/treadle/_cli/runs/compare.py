"""`runs compare`: how two runs differ."""

from __future__ import annotations

import argparse

from treadle._cli.display.table import table
from treadle._cli.display.text import clean, one_line, plain_json, plural, wrapped
from treadle._cli.runs.lookup import find_run
from treadle._inspect.compare import ComparedStep, RunComparison, StepPair, compare
from treadle._journal import Journal

_MARKS = {"same": "=", "changed": "~", "removed": "-", "added": "+"}
_LONG = 200


async def compare_runs(args: argparse.Namespace, journal: Journal) -> int:
    first, second = [await find_run(journal, typed) for typed in (args.first, args.second)]
    compared = await compare(journal, first, second)
    if args.json:
        print(plain_json(compared))
        return 0
    common = plural(compared.common, "record")
    print(wrapped(f"run {first[:8]} and run {second[:8]}: {common} in common at the beginning"))
    _print_facts(compared, everything=args.all)
    _print_steps(compared, everything=args.all)
    return 0


def _print_facts(compared: RunComparison, *, everything: bool) -> None:
    facts = [fact for fact in compared.facts if everything or not fact.same]
    rows = [[fact.name, one_line(fact.first, _LONG) or "-", one_line(fact.second, _LONG) or "-"] for fact in facts]
    short = [row for row in rows if len(row[1]) <= 24]
    long = [row for row in rows if len(row[1]) > 24]
    if short:
        print("\n" + table(("WHAT", compared.first[:8], compared.second[:8]), short))
    for name, one, other in long:  # side by side there would be no room for either
        print(f"\n{name}")
        print(wrapped(f"- {one}", rest="  "))
        print(wrapped(f"+ {other}", rest="  "))


def _print_steps(compared: RunComparison, *, everything: bool) -> None:
    shown = [pair for pair in compared.steps if everything or pair.change != "same"]
    same = len(compared.steps) - len(shown)
    print(f"\nsteps: {plural(len(shown), 'difference')}" + (f", {same} the same" if same else ""))
    for pair in shown:
        for line in _lines(pair):
            print(wrapped(line, rest="    "))


def _lines(pair: StepPair) -> list[str]:
    first, second = pair.first, pair.second
    if first is None or second is None or pair.change == "same":
        step = first or second
        assert step is not None
        return [f"{_MARKS[pair.change]} {_head(step)}: {_outcome(step)}"]
    lines = [f"~ {clean(first.name)}"]
    for name in ("input", "output", "error"):
        one, other = getattr(first, name), getattr(second, name)
        if one != other:
            lines += [f"  - {one_line(one, _LONG) or '(nothing)'}", f"  + {one_line(other, _LONG) or '(nothing)'}"]
    return lines


def _head(step: ComparedStep) -> str:
    return f"{clean(step.name)} {one_line(step.input, 80)}".rstrip()


def _outcome(step: ComparedStep) -> str:
    return one_line(f"{step.error}: {step.output}" if step.error else step.output, _LONG)
