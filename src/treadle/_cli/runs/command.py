"""`treadle runs`: recorded runs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from treadle._cli.display.help_text import HelpLines
from treadle._cli.setup import exit_codes
from treadle._cli.setup.options import (
    add_agent_options,
    add_journal_option,
    add_output_options,
    amount,
    count,
    not_negative,
)

RUN_HELP = "the id of a run or its first characters; 'last' for the newest"


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "runs",
        description="Recorded runs: list, show, decide about, resume, replay, fork, export and delete them.",
        epilog=exit_codes.HELP,
        formatter_class=HelpLines,
    )
    parser.set_defaults(runs_parser=parser)
    add_journal_option(parser)
    actions = parser.add_subparsers(title="actions", dest="action", metavar="ACTION")
    _register_reading(actions)
    _register_resuming(actions)
    _register_experiments(actions)
    _register_deciding(actions)
    _register_noting(actions)
    _register_storing(actions)
    for action in {id(action): action for action in actions.choices.values()}.values():  # an alias is the same one
        # Allowed after the action too; its default there must not replace a value given before the action.
        action.add_argument("--journal", metavar="PATH", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def _register_reading(actions: Any) -> None:
    action = _action(actions, "list", "show:list_runs", "list the newest runs")
    action.add_argument("-n", "--limit", type=count, default=20, metavar="N", help="how many (20)")
    action.add_argument(
        "--status", choices=("running", "idle", "paused", "parked", "finished"), help="only runs with this status"
    )
    action.add_argument("--agent", default="", metavar="NAME", help="only runs of this agent")
    action.add_argument("--model", default="", metavar="NAME", help="only runs that began with this model")
    action.add_argument("--tag", default="", metavar="TAG", help="only runs with this tag")
    action.add_argument("--search", default="", metavar="TEXT", help="only runs with this in their question or note")
    action.add_argument("--after", default="", metavar="CURSOR", help="the next page; the page before names it")
    action.add_argument("--all", action="store_true", help="also runs of sub-agents")
    action.add_argument("--ids", action="store_true", help="only their ids")
    action.add_argument("--json", action="store_true", help="as JSON lines")
    action = _action(actions, "show", "show:show_run", "show a run: question, steps, answer, cost")
    action.add_argument("run", help=RUN_HELP)
    action.add_argument("--records", action="store_true", help="list its records")
    action.add_argument("--json", action="store_true", help="print its records as JSON lines")
    action = _action(actions, "watch", "watch:watch_run", "follow a run that another process drives")
    action.add_argument("run", nargs="?", default="", help=f"{RUN_HELP} (default: the newest in progress)")
    add_output_options(action)
    action = _action(
        actions,
        "explain",
        "explain:explain_run",
        "show where each byte of a request came from, and what it cost",
        aliases=("blame",),
    )
    action.add_argument("run", help=RUN_HELP)
    action.add_argument("--at", type=amount, metavar="N", help="the request of step N (default: the last one)")
    action.add_argument(
        "--record",
        type=amount,
        metavar="SEQ",
        help="the request that record SEQ sent, for requests outside the steps, such as the planner's",
    )
    action.add_argument("--text", action="store_true", help="print the complete text")
    action.add_argument("--json", action="store_true", help="as JSON lines")

    action = _action(
        actions, "compare", "compare:compare_runs", "show how two runs differ, such as a fork and its origin"
    )
    action.add_argument("first", metavar="A", help=RUN_HELP)
    action.add_argument("second", metavar="B", help=RUN_HELP)
    action.add_argument("--all", action="store_true", help="also what is the same")
    action.add_argument("--json", action="store_true", help="as JSON")


def _register_resuming(actions: Any) -> None:
    action = _action(
        actions, "resume", "resume:resume_run", "resume a run that was paused, parked, interrupted or killed"
    )
    action.add_argument("run", help=RUN_HELP)
    action.add_argument(
        "--approve", action="append", metavar="CALL", help="allow this waiting call ('all' for every call)"
    )
    action.add_argument(
        "--deny",
        nargs="?",
        const="all",
        action="append",
        metavar="CALL",
        help="refuse this waiting call (without CALL: every call)",
    )
    action.add_argument("--say", metavar="TEXT", help="a message to the run before it is resumed")
    add_agent_options(action)
    add_output_options(action)
    action = _action(actions, "send", "inbox:send_message", "send a message to a run that another process drives")
    action.add_argument("run", help=RUN_HELP)
    action.add_argument("text", help="the message; the run reads it after its current step")
    action = _action(actions, "cancel", "inbox:cancel_run", "cancel a run that another process drives")
    action.add_argument("run", help=RUN_HELP)
    action = _action(
        actions,
        "replay",
        "replay:replay_run",
        "render every request again from the log and compare the bytes; no model is called",
    )
    action.add_argument("run", help=RUN_HELP)
    action.add_argument("--play", action="store_true", help="show the run again as it went")
    action.add_argument(
        "--speed",
        type=not_negative,
        default=0.0,
        metavar="X",
        help="with --play: X times as fast as it was; 0 for at once",
    )
    action = _action(actions, "fork", "resume:fork_run", "copy a run up to a step, to continue it differently")
    action.add_argument("run", help=RUN_HELP)
    action.add_argument("--at", type=amount, required=True, metavar="N", help="step N is the first that is not copied")
    action.add_argument("--go", action="store_true", help="resume the copy at once")
    action.add_argument("--say", metavar="TEXT", help="with --go: a message to the copy first")
    action.set_defaults(approve=None, deny=None)
    add_agent_options(action)
    add_output_options(action)


def _register_experiments(actions: Any) -> None:
    action = _action(
        actions, "why", "why.command:why_run", "find the smallest change with which a run would have gone right"
    )
    action.add_argument("run", help=RUN_HELP)
    action.add_argument("--expect", default="", metavar="TEXT", help="what the answer should have had in it")
    action.add_argument("--expect-call", default="", metavar="TOOL", help="the tool that should have been called")
    action.add_argument("--expect-args", default="", metavar="JSON", help="with --expect-call: its arguments")
    action.add_argument(
        "--step",
        type=amount,
        default=0,
        metavar="N",
        help="with --expect or --expect-call: of step N, not of the whole run",
    )
    action.add_argument("--judge", default="", metavar="MODEL", help="as a last resort: a model that judges")
    action.add_argument("--try-model", action="append", default=[], metavar="MODEL", help="also try this model")
    action.add_argument("--try-dialect", action="append", default=[], metavar="NAME", help="also try this dialect")
    action.add_argument(
        "--try-line", action="append", default=[], metavar="TEXT", help="also try this line of the prompt"
    )
    action.add_argument("--try-guard", action="append", default=[], metavar="NAME", help="also try with this plug-in")
    action.add_argument("--source", action="append", default=[], metavar="FILE", help="a file to look for the cause in")
    action.add_argument(
        "--apply", action="store_true", help="after showing it, apply the patch of the first cause to the file"
    )
    action.add_argument("--requests", type=count, default=120, metavar="N", help="at most so many model requests (120)")
    action.add_argument("--trials", type=count, default=1, metavar="N", help="repetitions of each experiment (1)")
    action.add_argument("--parallel", type=count, default=4, metavar="N", help="experiments at the same time (4)")
    add_agent_options(action)
    action.add_argument("--json", action="store_true", help="as JSON")
    action.add_argument("--quiet", action="store_true", help="without the progress")


def _register_deciding(actions: Any) -> None:
    for name, line in (
        ("approve", "allow calls that wait for approval, and have the run go on"),
        ("deny", "refuse calls that wait for approval, and have the run go on"),
    ):
        action = _action(actions, name, "decide:decide", line)
        action.set_defaults(allow=name == "approve", approve=None, deny=None, say=None, args=None, always=False)
        action.add_argument("run", help=RUN_HELP)
        action.add_argument("calls", nargs="*", metavar="CALL", help="which calls (when one waits: that one)")
        action.add_argument("--all", action="store_true", help="every call that waits")
        action.add_argument("--note", default="", metavar="TEXT", help="why; a refusal's is shown to the model")
        if name == "approve":
            action.add_argument("--args", metavar="JSON", help="make the call with these arguments instead")
            action.add_argument("--always", action="store_true", help="allow later calls of this tool in this run, too")
        _add_going_on(action)
    action = _action(
        actions,
        "answer",
        "decide:answer",
        "give the result of a call that is executed elsewhere, and have the run go on",
    )
    action.set_defaults(approve=None, deny=None, say=None)
    action.add_argument("run", help=RUN_HELP)
    action.add_argument("call", nargs="?", metavar="CALL", help="which call (when one waits: that one)")
    action.add_argument("--result", metavar="TEXT", help="what came of it: text or JSON; '-' reads it from stdin")
    action.add_argument("--error", metavar="TEXT", help="it failed: why")
    _add_going_on(action)


def _add_going_on(action: Any) -> None:
    action.add_argument(
        "--leave", action="store_true", help="only leave it for whoever resumes the run; do not resume the run here"
    )
    action.add_argument("--temporal", metavar="HOST:PORT", help="the Temporal server whose workers drive the run")
    add_agent_options(action)
    add_output_options(action)


def _register_noting(actions: Any) -> None:
    action = _action(actions, "note", "annotate:set_note", "note something about a run; an empty text removes the note")
    action.add_argument("run", help=RUN_HELP)
    action.add_argument("text", help="the note; it takes the place of the one before")
    action = _action(
        actions,
        "mark",
        "why.command:mark_run",
        "say that a run's answer, or a step of it, is wrong, and what was expected",
    )
    action.add_argument("run", help=RUN_HELP)
    action.add_argument(
        "--expect", default="", metavar="TEXT", help="what the answer (or the step) should have had in it"
    )
    action.add_argument("--expect-call", default="", metavar="TOOL", help="the tool that should have been called")
    action.add_argument("--expect-args", default="", metavar="JSON", help="with --expect-call: its arguments")
    action.add_argument("--step", type=amount, default=0, metavar="N", help="step N is wrong, not the answer")
    action = _action(actions, "tag", "annotate:set_tags", "give a run tags")
    action.add_argument("run", help=RUN_HELP)
    action.add_argument("tags", nargs="+", metavar="TAG", help="the tags; runs list --tag finds the run")
    action.add_argument("--remove", action="store_true", help="take these tags away instead")
    action = _action(actions, "rate", "annotate:rate", "say whether a run was good")
    action.add_argument("run", help=RUN_HELP)
    action.add_argument("thumb", choices=("up", "down", "none"), help="good, bad, or no opinion any more")
    action = _action(actions, "rename", "annotate:rename", "give a conversation another title; an empty one removes it")
    action.add_argument("run", help=f"a run of the conversation: {RUN_HELP}")
    action.add_argument("title", help="its title in lists and on the page")


def _register_storing(actions: Any) -> None:
    action = _action(actions, "export", "storage:export_to_file", "write a run to a file, or as a regression test")
    action.add_argument("run", help=RUN_HELP)
    action.add_argument("-o", "--output", metavar="FILE", help="the file to write (default: stdout, or test_run_ID.py)")
    action.add_argument(
        "--html", action="store_true", help="write a page that needs nothing else (also: a FILE that ends with .html)"
    )
    action.add_argument(
        "--pytest", action="store_true", help="write a test that renders every request again and compares the bytes"
    )
    action.add_argument(
        "--training",
        action="store_true",
        help="write pairs of request and reply that a model can be trained on (RUN 'all': every good run)",
    )
    action.add_argument("--salvage", action="store_true", help="export the intact part of a damaged run")
    action = _action(
        actions,
        "proof",
        "proof:prove_run",
        "write the answer with its grounds: each sentence and number, the record it came from, and the whole log",
    )
    action.add_argument("run", help=RUN_HELP)
    action.add_argument("-o", "--output", metavar="FILE", help="the file to write (proof-ID.jsonl); '-' for stdout")
    action = _action(actions, "import", "storage:import_files", "add exported runs to the journal")
    action.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="exported runs, messages as OpenAI and Anthropic write them, OpenTelemetry traces; '-' for stdin",
    )
    action = _action(actions, "delete", "storage:delete_runs", "delete runs, and those of their sub-agents")
    action.add_argument("runs", nargs="+", metavar="RUN", help=RUN_HELP)
    action = _action(actions, "gc", "storage:collect_garbage", "delete old finished runs")
    action.add_argument("--older-than", default="30d", metavar="SPAN", help="such as 12h, 30d, 4w (30d)")
    action.add_argument("--keep", type=amount, default=0, metavar="N", help="but keep the newest N")
    action.add_argument(
        "--status",
        action="append",
        choices=("finished", "paused", "parked", "idle", "running"),
        help="which runs (finished); may be repeated",
    )


def _action(actions: Any, name: str, handler: str, line: str, aliases: Sequence[str] = ()) -> Any:
    action = actions.add_parser(name, aliases=aliases, help=line, description=f"{line[0].upper()}{line[1:]}.")
    action.set_defaults(handler=handler)
    return action


def run(args: argparse.Namespace) -> int:
    if not args.action:
        args.runs_parser.print_help()
        return exit_codes.USAGE
    from treadle._cli.driving.interrupts import run_async

    return run_async(_act(args))


async def _act(args: argparse.Namespace) -> int:
    from treadle._cli.display.notice import notice
    from treadle._cli.setup.launch import existing_journal

    module, _, function = args.handler.partition(":")
    place = module if "." in module else f"runs.{module}"
    handler = getattr(import_module(f"treadle._cli.{place}"), function)
    journal = existing_journal(args)
    notice.clear()
    try:
        return await handler(args, journal)
    finally:
        await journal.aclose()
