"""`runs why` and `runs mark`: which single change would have made a run go right, and what was expected of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treadle._agent.agent import Agent
from treadle._cli.display.text import clean, plain_json, plural, say
from treadle._cli.driving.conductor import Conductor
from treadle._cli.driving.lifecycle import close, load_model
from treadle._cli.runs.resume import relaunch
from treadle._cli.setup.launch import build_agent, launch_of
from treadle._cli.workspace.consent import confirm
from treadle._inspect.why.budgeted_model import SearchBudget
from treadle._inspect.why.effects import stubs_of
from treadle._inspect.why.experiments import Experiment
from treadle._inspect.why.findings import Cause
from treadle._inspect.why.judges import judge_for
from treadle._inspect.why.marks import KEPT, mark, mark_wrong, marks_in
from treadle._inspect.why.patches import apply_patch
from treadle._inspect.why.points import Plan
from treadle._inspect.why.search import find_causes
from treadle._journal import Journal, RunInfo
from treadle._journal.export import FOREIGN
from treadle._types.errors import ConfigError
from treadle._types.events import Record, RunStarted


async def why_run(args: argparse.Namespace, journal: Journal) -> int:
    records = await journal.load(args.run)
    if args.expect_args and not args.expect_call:
        raise ConfigError("--expect-args are the arguments of a call: name its tool with --expect-call")
    if not (args.expect or args.expect_call or args.judge):
        await _check_what_is_wrong(journal, records)  # before a model is looked for, which may have to be downloaded
    launch = relaunch(args, records, only_look=True)
    # No launch note: it belongs to the run it was written for. Nobody is asked for approval in an experiment.
    agent = build_agent(launch, journal=journal, approval=Conductor().approval(), note=False)
    if launch_of(records) is None and isinstance(started := records[0].event, RunStarted):
        agent.system = agent.system or started.system  # what another program says stands in that program's file
    try:
        await load_model(agent, quiet=args.quiet)
        report = await find_causes(
            agent,
            args.run,
            **_expectation(args),
            judge_model=args.judge or None,
            models=args.try_model,
            dialects=args.try_dialect,
            lines=args.try_line,
            guards=args.try_guard,
            requests=args.requests,
            trials=args.trials,
            parallel=args.parallel,
            stubs=stubs_of(args.stub),
            guess=args.guess,
            on_plan=None if args.quiet or args.json else _say_plan,
            files=list(map(Path, [*args.source, *([args.file] if args.file else [])])),
            on_experiment=None if args.quiet or args.json else _Progress().show,
        )
    finally:
        await close(agent, None)
    print(plain_json(report) if args.json else clean(str(report)))
    if args.apply:
        imported = FOREIGN & {*(await journal.info(args.run)).tags}
        return _apply(report.causes[0] if report.causes else None, agent, yes=args.yes, imported=bool(imported))
    return 0 if report.explained else 1


async def _check_what_is_wrong(journal: Journal, records: Sequence[Record]) -> None:
    note = (await journal.info(records[0].run)).note
    try:
        judge_for(records, marks_in(note), None, note, None, SearchBudget(1, None))
    except ConfigError:
        raise ConfigError(
            "this run ended with an answer, so say what is wrong with it: what its answer should have had (--expect), "
            "which call it should have made (--expect-call), or a model that judges (--judge)"
        ) from None


async def mark_run(args: argparse.Namespace, journal: Journal) -> int:
    """Store in the journal what was expected of a run; `runs why` judges by it."""
    return _show(await mark_wrong(journal, args.run, **_expectation(args)))


async def keep_run(args: argparse.Namespace, journal: Journal) -> int:
    """Make a run a test: tag it, and note what is expected of it."""
    if args.expect or args.expect_call:
        await mark(journal, args.run, **_expectation(args))
    tags = (await journal.info(args.run)).tags
    return _show(await journal.annotate(args.run, tags=[*dict.fromkeys([*tags, KEPT])], thumb="up"))


def _expectation(args: argparse.Namespace) -> dict[str, Any]:
    return {"answer": args.expect, "call": args.expect_call, "args": args.expect_args or None, "step": args.step}


def _show(info: RunInfo) -> int:
    print("\n".join([info.run_id, *(f"  {clean(line)}" for line in info.note.splitlines())]))
    return 0


def _apply(cause: Cause | None, agent: Agent[Any, Any], *, yes: bool, imported: bool) -> int:
    """Ask, then apply the patch of a cause where it still fits the file."""
    if cause is None or not cause.patch:
        raise ConfigError(
            "there is no patch to apply: no string of the files that you named (--source, -f) is shown to have built "
            "the text of the cause, or more than one is"
        )
    say(cause.patch)
    if not yes and not confirm(f"make this change in {cause.file}?", lambda: cause.patch):
        raise ConfigError(f"nothing was written to {cause.file}: the change was not confirmed")
    if imported and not confirm(
        "this run was imported: what it says may be a stranger's. Change your file all the same?", lambda: cause.patch
    ):
        raise ConfigError(f"nothing was written to {cause.file}: the change comes from an imported run")
    print(f"applied to {apply_patch(cause, agent)}")
    return 0


def _say_plan(plan: Plan) -> None:
    say(f"expected: {plan}; a search that is stopped goes on from there")


class _Progress:
    """Prints one line for each experiment: the change, and the answer that came of it."""

    done = 0

    def show(self, experiment: Experiment) -> None:
        self.done += 1
        mark = "+" if experiment.helps else "-"
        trials = f" ({experiment.right} of {plural(experiment.trials, 'trial')})" if experiment.trials > 1 else ""
        answer = clean(" ".join(experiment.answer.split())[:60])
        line = f"{self.done:>3} {mark} step {experiment.step}: {clean(str(experiment.change))}{trials} -> {answer}"
        print(line, file=sys.stderr, flush=True)
