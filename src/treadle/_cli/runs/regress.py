"""`treadle regress`: which recorded runs a change of the program affects, and what becomes of them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from treadle._cli.setup import exit_codes
from treadle._cli.setup.options import (
    add_agent_options,
    add_command,
    add_journal_option,
    amount,
    count,
    flag,
    repeatable,
)
from treadle._types.errors import ConfigError

if TYPE_CHECKING:
    from treadle._agent.agent import Agent
    from treadle._inspect.regress.report import Regressed, Report
    from treadle._journal import Journal
    from treadle._types.events import Record

EXAMPLES = """examples:
  treadle runs keep last --expect 522250            make a run a test: it is right, and this is in its answer
  treadle regress --tag kept --system prompt.txt    which of the tests does this prompt affect? costs nothing
  treadle regress -f agent.yaml --budget 200 --junit report.xml
  treadle regress --since main -f agent.yaml        the change is what git says: the code of tools too
  treadle regress --model openai:gpt-5-mini --budget 500 --baseline accepted.json --accept

No tool that may act ever runs: its calls are answered from the log, or by --stub. Without --budget no model is asked.

"""


def register(commands: Any) -> None:
    parser = add_command(commands, "regress", "Compare recorded runs with what the program would do now.", EXAMPLES)
    parser.add_argument("runs", nargs="*", metavar="RUN", help="which runs (all that are finished)")
    parser.add_argument("--tag", default="", metavar="TAG", help="only runs with this tag, such as kept")
    parser.add_argument("--agent", default="", metavar="NAME", help="only runs of this agent")
    parser.add_argument("-n", "--limit", type=count, default=1000, metavar="N", help="the newest N runs (1000)")
    line = "at most so many model requests for affected runs (0)"
    parser.add_argument("--budget", type=amount, default=0, metavar="REQUESTS", help=line)
    parser.add_argument("--parallel", type=count, default=4, metavar="N", help="runs at the same time (4)")
    line = "in place of a tool that may not run: what it returns"
    parser.add_argument("--stub", action="append", default=[], metavar="TOOL=TEXT", help=line)
    repeatable(parser, "--again", metavar="TOOL", help="a pure tool to call again, in place of what the log says")
    line = "tools that `git diff REV` touches are not answered for by the log"
    parser.add_argument("--since", default="", metavar="REV", help=line)
    parser.add_argument("--baseline", metavar="FILE", help="outcomes that were accepted before")
    flag(parser, "--accept", help="accept what comes out: write it to the baseline")
    parser.add_argument("--html", metavar="FILE", help="write a page")
    parser.add_argument("--junit", metavar="FILE", help="write JUnit XML")
    flag(parser, "--json", help="as JSON")
    flag(parser, "--all", help="list also the runs that end alike")
    flag(parser, "--quiet", help="without the progress")
    add_agent_options(parser)
    add_journal_option(parser)


def run(args: argparse.Namespace) -> int:
    from treadle._cli.driving.interrupts import run_async
    from treadle._cli.setup.launch import existing_journal

    if args.accept and not args.baseline:
        raise ConfigError("--accept writes what is accepted: say where, with --baseline FILE")
    journal = existing_journal(args)
    return run_async(_compared(args, journal))


async def _compared(args: argparse.Namespace, journal: Journal) -> int:
    from treadle._cli.display.text import plain_json
    from treadle._cli.runs.lookup import find_run
    from treadle._inspect.regress.check import can_be_compared, regress
    from treadle._inspect.why.effects import stubs_of

    try:
        runs = [await find_run(journal, run) for run in args.runs]
        if not runs:
            infos = await journal.list(limit=args.limit, tag=args.tag, agent=args.agent, status="finished", parent="")
            runs = [info.run_id for info in infos if can_be_compared(info)]
        if not runs:
            raise ConfigError(
                "there is no finished run to compare with: record some, or name others with --tag, --agent"
            )
        report = await regress(
            _Agents(args, journal).of,
            runs,
            journal=journal,
            requests=args.budget,
            parallel=args.parallel,
            stubs=stubs_of(args.stub),
            again=args.again,
            since=args.since,
            on_run=None if args.quiet or args.json else _show,
        )
    finally:
        await journal.aclose()
    accepted = {} if args.accept else _accepted(args.baseline)
    _write(args, report, accepted)
    if args.json:
        print(plain_json(report))
    else:
        _print(report, everything=args.all)
    return exit_codes.FAILED if report.failing(accepted) and not args.accept else exit_codes.OK


class _Agents:
    """Builds the agent of each run as it is now: with the options given, else as the run was started."""

    def __init__(self, args: argparse.Namespace, journal: Journal) -> None:
        self._args, self._journal = args, journal
        self._made: dict[bytes, Agent[Any, Any]] = {}

    def of(self, records: Sequence[Record]) -> Agent[Any, Any]:
        from treadle._cli.runs.resume import relaunch, with_stubs
        from treadle._cli.setup.launch import build_agent, launch_of, settings_from
        from treadle._cli.setup.user_config import UserConfig
        from treadle._plugins.guards.approval import Approval
        from treadle._types.events import RunStarted

        launch = relaunch(self._args, records, only_look=True)
        started = records[0].event
        foreign = (
            started if launch_of(records) is None and isinstance(started, RunStarted) and not launch.file else None
        )
        key = msgspec.json.encode((launch, foreign and (foreign.system, foreign.tools)))
        if key not in self._made:  # the same program for most of them
            agent = build_agent(launch, journal=self._journal, approval=Approval(), note=False)
            agent.settings = agent.settings.with_changes(settings_from(self._args, UserConfig()))
            if foreign is not None:  # what another program has told the model it tells it now, but for the options
                agent.system = agent.system or foreign.system
                agent.toolkit = with_stubs(agent.toolkit, records)
            self._made[key] = agent
        return self._made[key]


def _show(one: Regressed) -> None:
    if one.verdict not in ("unaffected", "same"):
        print(f"{one.run[:8]} {one.verdict}", file=sys.stderr, flush=True)


def _accepted(path: str | None) -> dict[str, str]:
    if not path or not Path(path).exists():
        return {}
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=dict[str, str])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise ConfigError(f"{path} is no baseline that --accept has written: {error}") from None


def _write(args: argparse.Namespace, report: Report, accepted: dict[str, str]) -> None:
    from treadle._inspect.regress.report import as_junit, as_page

    texts = {args.html: as_page(report) if args.html else "", args.junit: as_junit(report, accepted)}
    if args.accept:
        texts[args.baseline] = msgspec.json.format(msgspec.json.encode(report.baseline())).decode() + "\n"
    for path, text in texts.items():
        if path:
            Path(path).write_text(text, "utf-8")
            print(f"wrote {path}", file=sys.stderr)


def _print(report: Report, *, everything: bool) -> None:
    from treadle._cli.display.table import table
    from treadle._cli.display.text import clean
    from treadle._inspect.regress.report import rows_of, summary

    if rows := rows_of(report.runs, everything=everything):
        print(table(("RUN", "", "WHAT", "QUESTION"), [[clean(cell) for cell in row] for row in rows], stretch=2))
    print(clean(summary(report)))
