"""`treadle eval`: how many tasks a model solves."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle._cli.display.table import table
from treadle._cli.display.text import clean, one_line, seconds
from treadle._cli.driving.interrupts import run_async
from treadle._cli.setup import exit_codes
from treadle._cli.setup.options import PRESETS, add_command, add_journal_option, count, flag, positive, repeatable
from treadle._types.errors import ConfigError

if TYPE_CHECKING:
    from treadle._inspect.evals.report import Report
    from treadle._inspect.evals.runner import Trial, Variant
    from treadle._inspect.evals.tasks import TaskSet
    from treadle._journal import Journal

EXAMPLES = """examples:
  treadle eval mytasks.jsonl --tools mymodule:tools --model openai:gpt-5-mini
  treadle eval mytasks.jsonl -t mytools.py:price -t calculator -m ollama:llama3.2 -d native -d schema --repeats 3
  treadle eval hotpot_folder -m openai:gpt-5-mini --limit 20 --parallel 8 --out report

A task file names tools; --tools says where they come from. A task that names none is offered all of them.
A function that returns tools (-> list[Tool]) is called for each run, so that tools with a memory start afresh.
Several models and dialects are compared with each other. Every run is kept in the journal, under the id in the report.

"""
MAX_ITERATIONS = 12
"""A model that needs more steps for a task hardly ever solves it."""


def register(commands: Any) -> None:
    parser = add_command(
        commands, "eval", "Run a task file against a model and settings, and report how many tasks it solves.", EXAMPLES
    )
    line = "a file with one task a line, or a folder with tasks.json and wiki.json (HotpotQA)"
    parser.add_argument("tasks", metavar="TASKS", help=line)
    line = "the tools that the tasks name: module:name, file.py:name or a built-in tool"
    repeatable(parser, "-t", "--tools", metavar="NAME", help=line)
    what = parser.add_argument_group("what is compared")
    repeatable(what, "-m", "--model", metavar="PROVIDER:MODEL", help="the models")
    line = "how tool calls are written, 'auto' if not given"
    repeatable(what, "-d", "--dialect", metavar="NAME", help=line)
    what.add_argument("-p", "--preset", choices=PRESETS, default="default", help="settings that belong together")
    repeatable(what, "--set", metavar="NAME=VALUE", help="any setting, such as temperature=0.2")
    which = parser.add_argument_group("which tasks, how often")
    line = "only the tasks for development, or only those held out"
    which.add_argument("--split", choices=("dev", "held"), default="", help=line)
    repeatable(which, "--kind", metavar="KIND", help="only tasks of this kind")
    which.add_argument("--limit", type=count, metavar="N", help="at most N tasks, taken from all kinds in turn")
    which.add_argument("--repeats", type=count, default=1, metavar="N", help="run every task N times")
    which.add_argument("--parallel", type=count, default=1, metavar="N", help="N runs at a time")
    which.add_argument("--timeout", type=positive, default=600.0, metavar="SECONDS", help="how long one run may take")
    parser.add_argument("-o", "--out", metavar="DIR", help="write report.md, report.html and results.jsonl there")
    line = "exit with 1 if a variant solves less"
    parser.add_argument("--min", type=float, default=0.0, metavar="PERCENT", help=line)
    line = "look for the change that fixes most failed tasks and breaks none, with at most so many model requests (400)"
    parser.add_argument("--why", type=count, nargs="?", const=400, metavar="REQUESTS", help=line)
    flag(parser, "-q", "--quiet", help="no progress")
    add_journal_option(parser)


def run(args: argparse.Namespace) -> int:
    from treadle._cli.setup.toolbox import find_tools
    from treadle._inspect.evals.load import load_tasks
    from treadle._inspect.evals.runner import select_tasks

    loaded = load_tasks(args.tasks, find_tools(args.tools, call_factories=False))
    tasks = select_tasks(loaded, split=args.split, kinds=args.kind, limit=args.limit)
    if not tasks.tasks:
        kinds = ", ".join(dict.fromkeys(task.kind for task in loaded.tasks))
        raise ConfigError(f"--split and --kind leave no task to run; the kinds in {args.tasks} are: {kinds}")
    out = Path(args.out).expanduser() if args.out else None
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "results.jsonl").write_bytes(b"")
    report = run_async(_evaluate(args, tasks, out))
    _print(report, out)
    passed = all(100 * figures.shares["all"].value >= args.min for figures in report.figures)
    return exit_codes.OK if passed else exit_codes.FAILED


async def _evaluate(args: argparse.Namespace, tasks: TaskSet, out: Path | None) -> Report:
    from treadle._cli.setup.launch import journal_from
    from treadle._inspect.evals.report import make_report
    from treadle._inspect.evals.runner import run_tasks

    journal = journal_from(args)
    variants = _variants(args)
    progress = _Progress(len(variants) * len(tasks.tasks) * args.repeats, out, quiet=args.quiet)
    try:
        for variant in variants:
            if (load := getattr(variant.model, "load", None)) is not None:
                await load()
        trials = await run_tasks(
            tasks,
            variants,
            repeats=args.repeats,
            parallel=args.parallel,
            journal=journal,
            task_seconds=args.timeout,
            on_trial=progress.report,
        )
        await _explain(args, tasks, variants, trials, journal)
    finally:
        for variant in variants:
            await variant.model.aclose()
        if journal is not None:
            await journal.aclose()
    return make_report(f"{tasks.name}: tasks solved", trials, _describe(args, tasks))


async def _explain(
    args: argparse.Namespace, tasks: TaskSet, variants: list[Variant], trials: list[Trial], journal: Journal | None
) -> None:
    """Print why tasks failed with --why; without it, say that this can be asked for."""
    if all(trial.passed for trial in trials):
        return
    if not args.why:
        if not args.quiet:
            print("why tasks failed, and which change fixes most of them: --why", file=sys.stderr)
        return
    from treadle._inspect.why.over_tasks import find_fixes

    if journal is None:
        raise ConfigError("--why forks the runs that failed: it needs a journal")
    for variant in variants:
        if any(trial.variant == variant.label and not trial.passed for trial in trials):
            fixes = await find_fixes(tasks, variant, trials, journal=journal, requests=args.why, parallel=args.parallel)
            print(f"\n{variant.label}: single changes that help")
            print(clean(str(fixes)))


def _variants(args: argparse.Namespace) -> list[Variant]:
    from treadle._cli.setup.launch import print_choice, settings_from
    from treadle._cli.setup.user_config import UserConfig, read_user_config
    from treadle._inspect.evals.runner import Variant
    from treadle._models.catalog.default import choose

    choices = [choose(spec, read_user_config().model) for spec in args.model or [None]]
    for choice in choices:
        print_choice(choice, quiet=args.quiet)
    # The user's own defaults are left out: a figure should mean the same on every machine.
    options = argparse.Namespace(set=args.set, max_iterations=None, max_cost=None)
    settings = {"max_iterations": MAX_ITERATIONS, **settings_from(options, UserConfig())}
    variants: list[Variant] = []
    for choice in choices:
        for dialect in args.dialect or [""]:
            own = {**settings, "dialect": dialect} if dialect else settings
            label = f"{choice.spec} {dialect}".strip()
            variants.append(Variant(label, _model(choice.spec, dialect), own, args.preset))
    return variants


def _model(spec: str, dialect: str) -> Any:
    """Open the model. Whoever asks for the native dialect says that it can call tools, whatever its profile says."""
    from treadle._models.catalog.default import SCRIPTED, Choice, model_of
    from treadle._models.catalog.registry import resolve_model

    if dialect == "native" and not spec.startswith(SCRIPTED):
        return resolve_model(spec, abilities={"tool_call": True})
    return model_of(Choice(spec, ""))


def _describe(args: argparse.Namespace, tasks: TaskSet) -> dict[str, str]:
    from treadle._version import __version__

    description = {"tasks": f"{len(tasks.tasks)} of {Path(args.tasks).name}" + f" ({args.split})" * bool(args.split)}
    if args.tools:
        description["tools"] = ", ".join(args.tools)
    description |= {"repeats": str(args.repeats), "preset": args.preset, "treadle": __version__}
    if args.set:
        description["settings"] = ", ".join(args.set)
    return description


class _Progress:
    """Prints one line for each run that ended, and writes its result to disk at once."""

    def __init__(self, total: int, out: Path | None, *, quiet: bool) -> None:
        self.total, self.out, self.quiet = total, out, quiet
        self.done = self.passed = 0

    def report(self, trial: Trial) -> None:
        import msgspec

        self.done += 1
        self.passed += trial.passed
        if self.out is not None:
            with open(self.out / "results.jsonl", "ab") as file:
                file.write(msgspec.json.encode(trial) + b"\n")
        if not self.quiet:
            mark = "ok  " if trial.passed else "FAIL"
            why = "" if trial.passed else f"  {one_line('; '.join(trial.problems), 90)}"
            line = f"{self.done:>4}/{self.total} {mark} {trial.task} {seconds(trial.elapsed)} {trial.run_id[:8]}{why}"
            print(line, file=sys.stderr, flush=True)


def _print(report: Report, out: Path | None) -> None:
    from treadle._inspect.evals.report import effort, html, markdown

    for figures in report.figures:
        print(f"\n{figures.variant}: {figures.shares['all']} of tasks solved, with 95 % confidence")
        rows = [[name, str(share)] for name, share in figures.shares.items() if name != "all"]
        print(table(("", "SOLVED"), rows))
    head, rows = effort(report)
    print("\n" + table([name.upper() for name in head], rows, stretch=0, right=range(2, len(head))))
    if out is not None:
        (out / "report.md").write_text(markdown(report), "utf-8")
        (out / "report.html").write_text(html(report), "utf-8")
        print(f"\nreport: {out / 'report.html'}")
