"""`treadle runs`: recorded runs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from treadle._cli.setup import exit_codes
from treadle._cli.setup.options import (
    add_agent_options,
    add_command,
    add_journal_option,
    add_output_options,
    amount,
    count,
    flag,
    json_object,
    not_negative,
    repeatable,
)

RUN_HELP = "the id of a run or its first characters; 'last' for the newest"
_STATUSES = ("running", "idle", "paused", "parked", "finished")


def register(commands: Any) -> None:
    parser = add_command(
        commands, "runs", "Recorded runs: list, show, decide about, resume, replay, fork, export and delete them."
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
    _register_files(actions)
    for action in {id(action): action for action in actions.choices.values()}.values():  # an alias is the same one
        # Allowed after the action too; its default there must not replace a value given before the action.
        action.add_argument("--journal", metavar="PATH", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def _register_reading(actions: Any) -> None:
    action = _action(actions, "list", "show:list_runs", "list the newest runs", run="")
    action.add_argument("-n", "--limit", type=count, default=20, metavar="N", help="how many (20)")
    action.add_argument("--status", choices=_STATUSES, help="only runs with this status")
    action.add_argument("--agent", default="", metavar="NAME", help="only runs of this agent")
    action.add_argument("--model", default="", metavar="NAME", help="only runs that began with this model")
    action.add_argument("--tag", default="", metavar="TAG", help="only runs with this tag")
    action.add_argument(
        "--search",
        default="",
        metavar="TEXT",
        help="only runs with this in their question, note or answer",
    )
    action.add_argument("--after", default="", metavar="CURSOR", help="the next page; the page before names it")
    flag(action, "--all", help="also runs of sub-agents")
    flag(action, "--ids", help="only their ids")
    flag(action, "--json", help="as JSON lines")

    action = _action(actions, "show", "show:show_run", "show a run: question, steps, answer, cost")
    flag(action, "--records", help="list its records")
    flag(action, "--json", help="print its records as JSON lines")

    action = _action(actions, "watch", "watch:watch_run", "follow a run that another process drives", run="")
    action.add_argument("run", nargs="?", default="", help=f"{RUN_HELP} (default: the newest in progress)")
    add_output_options(action)

    line = "show where each byte of a request came from, and what it cost"
    action = _action(actions, "explain", "explain:explain_run", line, aliases=("blame",))
    action.add_argument("--at", type=amount, metavar="N", help="the request of step N (default: the last one)")
    line = "the request that record SEQ sent, such as the planner's"
    action.add_argument("--record", type=amount, metavar="SEQ", help=line)
    flag(action, "--text", help="print the complete text")
    flag(action, "--json", help="as JSON lines")

    line = "show how two runs differ, such as a fork and its origin"
    action = _action(actions, "compare", "compare:compare_runs", line, run="")
    action.add_argument("first", metavar="A", help=RUN_HELP)
    action.add_argument("second", metavar="B", help=RUN_HELP)
    flag(action, "--all", help="also what is the same")
    flag(action, "--json", help="as JSON")


def _register_resuming(actions: Any) -> None:
    line = "resume a run that was paused, parked, interrupted or killed; a copy of one that failed or was stopped"
    action = _action(actions, "resume", "resume:resume_run", line)
    repeatable(action, "--approve", metavar="CALL", help="allow this waiting call ('all' for every call)")
    line = "refuse this waiting call (without CALL: every call)"
    action.add_argument("--deny", nargs="?", const="all", action="append", metavar="CALL", help=line)
    action.add_argument("--say", metavar="TEXT", help="a message to the run before it is resumed")
    add_agent_options(action)
    add_output_options(action)

    action = _action(actions, "send", "decide:send_message", "send a message to a run that another process drives")
    action.add_argument("text", help="the message; the run reads it after its current step")
    _action(actions, "cancel", "decide:cancel_run", "cancel a run that another process drives")

    line = "render every request again from the log and compare the bytes; no model is called"
    action = _action(actions, "replay", "replay:replay_run", line)
    flag(action, "--play", help="show the run again as it went")
    line = "with --play: X times as fast as it was; 0 for at once"
    action.add_argument("--speed", type=not_negative, default=0.0, metavar="X", help=line)

    action = _action(actions, "fork", "resume:fork_run", "copy a run up to a step, to continue it differently")
    line = "step N is the first that is not copied (default: the last one)"
    action.add_argument("--at", type=amount, metavar="N", help=line)
    flag(action, "--go", help="resume the copy at once")
    action.add_argument("--say", metavar="TEXT", help="with --go: a message to the copy first")
    action.set_defaults(approve=None, deny=None)
    add_agent_options(action)
    add_output_options(action)


def _register_experiments(actions: Any) -> None:
    line = "find the smallest change with which a run would have gone right"
    action = _action(actions, "why", "why:why_run", line)
    _add_expectation(
        action,
        answer="what the answer should have had in it",
        step="with --expect or --expect-call: of step N, not of the whole run",
    )
    action.add_argument("--judge", default="", metavar="MODEL", help="as a last resort: a model that judges")
    repeatable(action, "--try-model", metavar="MODEL", help="also try this model")
    repeatable(action, "--try-dialect", metavar="NAME", help="also try this dialect")
    repeatable(action, "--try-line", metavar="TEXT", help="also try this line of the prompt")
    repeatable(action, "--try-guard", metavar="NAME", help="also try with this plug-in")
    line = "in place of a tool that may not run: what it returns"
    action.add_argument("--stub", action="append", default=[], metavar="TOOL=TEXT", help=f"{line}; may be repeated")
    line = "have the model guess what calls that cannot be made would have returned"
    flag(action, "--guess", help=line)
    repeatable(action, "--source", metavar="FILE", help="a file to look for the cause in")
    flag(action, "--apply", help="apply the patch of the first cause to the file, after asking")
    action.add_argument("--requests", type=count, default=120, metavar="N", help="at most so many model requests (120)")
    action.add_argument("--trials", type=count, default=1, metavar="N", help="repetitions of each experiment (1)")
    action.add_argument("--parallel", type=count, default=4, metavar="N", help="experiments at the same time (4)")
    add_agent_options(action)
    flag(action, "--json", help="as JSON")
    flag(action, "--quiet", help="without the progress")


def _add_expectation(action: Any, *, answer: str, step: str) -> None:
    action.add_argument("--expect", default="", metavar="TEXT", help=answer)
    action.add_argument("--expect-call", default="", metavar="TOOL", help="the tool that should have been called")
    line = "with --expect-call: its arguments"
    action.add_argument("--expect-args", type=json_object, metavar="JSON", help=line)
    action.add_argument("--step", type=amount, default=0, metavar="N", help=step)


def _register_deciding(actions: Any) -> None:
    for name, verb in (("approve", "allow"), ("deny", "refuse")):
        line = f"{verb} calls that wait for approval, and have the run go on"
        action = _action(actions, name, "decide:decide", line)
        action.set_defaults(allow=name == "approve", args=None, always=False)
        action.add_argument("calls", nargs="*", metavar="CALL", help="which calls (when one waits: that one)")
        flag(action, "--all", help="every call that waits")
        action.add_argument("--note", default="", metavar="TEXT", help="why; a refusal's is shown to the model")
        if name == "approve":
            action.add_argument(
                "--args", type=json_object, metavar="JSON", help="make the call with these arguments instead"
            )
            flag(action, "--always", help="allow later calls of this tool in this run, too")
        _add_continuation(action)
    line = "give the result of a call that is executed elsewhere, and have the run go on"
    action = _action(actions, "answer", "decide:answer", line)
    action.add_argument("call", nargs="?", metavar="CALL", help="which call (when one waits: that one)")
    action.add_argument("--result", metavar="TEXT", help="what came of it: text or JSON; '-' reads it from stdin")
    action.add_argument("--error", metavar="TEXT", help="it failed: why")
    _add_continuation(action)


def _add_continuation(action: Any) -> None:
    action.set_defaults(approve=None, deny=None, say=None)
    flag(action, "--leave", help="only leave it for whoever resumes the run; do not resume the run here")
    action.add_argument("--temporal", metavar="HOST:PORT", help="the Temporal server whose workers drive the run")
    add_agent_options(action)
    add_output_options(action)


def _register_noting(actions: Any) -> None:
    action = _action(actions, "note", "annotate:set_note", "note something about a run; an empty text removes the note")
    action.add_argument("text", help="the note; it takes the place of the one before")

    line = "say that a run's answer, or a step of it, is wrong, and what was expected"
    action = _action(actions, "mark", "why:mark_run", line)
    _add_expectation(
        action, answer="what the answer (or the step) should have had in it", step="step N is wrong, not the answer"
    )

    line = "keep a run as a test for `treadle regress`: it is right, and this is expected of it"
    action = _action(actions, "keep", "why:keep_run", line)
    _add_expectation(action, answer="what its answer has to have in it", step="of step N, not of the whole run")

    action = _action(actions, "tag", "annotate:set_tags", "give a run tags")
    action.add_argument("tags", nargs="+", metavar="TAG", help="the tags; runs list --tag finds the run")
    flag(action, "--remove", help="take these tags away instead")

    action = _action(actions, "rate", "annotate:rate", "say whether a run was good")
    action.add_argument("thumb", choices=("up", "down", "none"), help="good, bad, or no opinion any more")

    line = "give a conversation another title; an empty one removes it"
    action = _action(actions, "rename", "annotate:rename", line, run=f"a run of the conversation: {RUN_HELP}")
    action.add_argument("title", help="its title in lists and on the page")


def _register_storing(actions: Any) -> None:
    action = _action(actions, "export", "storage:export_to_file", "write a run to a file, or as a regression test")
    action.add_argument("-o", "--output", metavar="FILE", help="the file to write (default: stdout, or test_run_ID.py)")
    flag(action, "--html", help="write a page that needs nothing else (also: a FILE that ends with .html)")
    flag(action, "--pytest", help="write a test that renders every request again and compares the bytes")
    flag(action, "--atif", help="write a trajectory in ATIF, as Harbor and Terminal-Bench read it")
    line = "write pairs of request and reply to train a model on (RUN 'all': every good run)"
    flag(action, "--training", help=line)
    action.add_argument("--user", default="", metavar="NAME", help="with --training all: only the runs of this user")
    flag(action, "--imported", help="with --training all: also runs that were imported or recorded")
    flag(action, "--salvage", help="export the intact part of a damaged run")

    action = _action(actions, "check", "storage:check_runs", "say which runs are whole and which are damaged", run="")
    action.add_argument("--save", metavar="FOLDER", help="write the intact part of each damaged run into FOLDER")

    line = "write the answer with its grounds: each sentence and number, the record it came from, and the whole log"
    action = _action(actions, "proof", "proof:prove_run", line)
    action.add_argument("-o", "--output", metavar="FILE", help="the file to write (proof-ID.jsonl); '-' for stdout")

    action = _action(actions, "import", "storage:import_files", "add exported runs to the journal", run="")
    line = "exported runs, messages, traces, trajectories; '-' for stdin"
    action.add_argument("files", nargs="+", metavar="FILE", help=line)

    action = _action(actions, "delete", "storage:delete_runs", "delete runs, and those of their sub-agents", run="")
    action.add_argument("runs", nargs="+", metavar="RUN", help=RUN_HELP)

    action = _action(actions, "gc", "storage:collect_garbage", "delete old finished runs", run="")
    action.add_argument("--older-than", default="30d", metavar="SPAN", help="such as 12h, 30d, 4w (30d)")
    action.add_argument("--keep", type=amount, default=0, metavar="N", help="but keep the newest N")
    line = "which runs (finished)"
    action.add_argument("--status", action="append", choices=_STATUSES, help=f"{line}; may be repeated")


def _register_files(actions: Any) -> None:
    line = "show what a run, or some of its steps, changed in its workspace"
    action = _action(actions, "diff", "files:show_difference", line)
    action.add_argument("first", nargs="?", type=amount, metavar="STEP", help="only this step, or the first of several")
    action.add_argument("last", nargs="?", type=amount, metavar="STEP", help="the last of them")

    line = "write the files of a run as they were after a step, or at its end, into a folder"
    action = _action(actions, "restore", "files:restore_files", line)
    action.add_argument("step", nargs="?", type=amount, metavar="STEP", help="after this step (default: the last)")
    action.add_argument("--to", metavar="FOLDER", help="where; what it holds is replaced, after asking")
    flag(action, "--yes", help="without asking")

    line = "bring what a run changed in its workspace into your folder, after showing it and asking"
    action = _action(actions, "apply", "files:apply_changes", line)
    action.add_argument("--to", metavar="FOLDER", help="another folder than the one that the run began with")
    flag(action, "--yes", help="without asking")


def _action(
    actions: Any, name: str, handler: str, line: str, *, run: str = RUN_HELP, aliases: Sequence[str] = ()
) -> Any:
    """Add an action with its argument RUN, unless `run`, the help of that argument, is empty."""
    action = actions.add_parser(name, aliases=aliases, help=line, description=f"{line[0].upper()}{line[1:]}.")
    action.set_defaults(handler=handler)
    if run:
        action.add_argument("run", help=run)
    return action


def run(args: argparse.Namespace) -> int:
    if not args.action:
        args.runs_parser.print_help()
        return exit_codes.USAGE
    from treadle._cli.driving.interrupts import run_async

    return run_async(_act(args))


async def _act(args: argparse.Namespace) -> int:
    from treadle._cli.display.notice import notice
    from treadle._cli.runs.lookup import find_run
    from treadle._cli.setup.launch import existing_journal

    module, _, function = args.handler.partition(":")
    handler = getattr(import_module(f"treadle._cli.runs.{module}"), function)
    journal = existing_journal(args, may_be_new=args.action == "import")
    notice.clear()
    try:
        if getattr(args, "run", "") and not getattr(args, "training", False):  # which reads `all`, too
            args.run = await find_run(journal, args.run)
        return await handler(args, journal)
    finally:
        await journal.aclose()
