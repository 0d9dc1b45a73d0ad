"""`runs resume` and `runs fork`."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from treadle._agent.waiting import waiting_calls
from treadle._cli.display.factory import open_display
from treadle._cli.display.made import show_files
from treadle._cli.driving.conductor import Conductor
from treadle._cli.driving.lifecycle import close, load_model, print_outcome
from treadle._cli.setup import exit_codes, toolbox
from treadle._cli.setup.launch import (
    REDACTED,
    Launch,
    build_agent,
    launch_from,
    launch_note,
    launch_of,
    settings_from,
)
from treadle._cli.setup.user_config import UserConfig
from treadle._cli.workspace.launch_inputs import skills_from
from treadle._engine.core.decisions import Answer
from treadle._engine.core.experiment import is_search
from treadle._inspect.replay import fork
from treadle._journal import Journal
from treadle._models.catalog.providers import provider_named
from treadle._tools.external import external_tool
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import ConfigError
from treadle._types.events import Exchanged, Record, RunStarted, StepStarted, ThinkDone, ThinkFailed
from treadle._types.state import fold

_YES: Answer = {"allow": True, "by": "--yes"}


async def resume_run(args: argparse.Namespace, journal: Journal) -> int:
    return await resume(args, journal, args.run)


async def resume(args: argparse.Namespace, journal: Journal, run_id: str) -> int:
    records = await journal.load(run_id)
    if records[0].parent:
        raise ConfigError(f"{run_id} is the run of a sub-agent: resume its parent {records[0].parent} instead")
    launch = relaunch(args, records)
    if (ended := fold(records).finished) is not None and ended.stop_reason in ("error", "cancelled"):
        failed, run_id = run_id, await fork_of(journal, run_id)
        print(f"run {failed[:8]} ended ({ended.stop_reason}): {run_id[:8]} goes on from its last step", file=sys.stderr)
        records = await journal.load(run_id)
    # A scripted model continues where it was; one that is given now starts at its first reply.
    used = 0 if args.model else await _replies(journal, run_id)
    conductor = Conductor()
    streaming = sys.stdout.isatty() or args.json
    agent = build_agent(
        launch, journal=journal, approval=conductor.approval(), yes=args.yes, skip=used, streaming=streaming
    )
    if toolbox.STUBS in launch.tools:
        agent.toolkit = with_stubs(agent.toolkit, records)
    try:
        finished = fold(records).finished
        if finished is None or finished.stop_reason == "paused":  # else nothing is asked of a model
            await load_model(agent, quiet=args.quiet)
        approve = _answers(args, records)
        run = await agent.load(run_id, approve=approve, **settings_from(args, UserConfig()))
        display = open_display(run_id, json=args.json, quiet=args.quiet, past=records)
        result = await conductor.drive(agent, run, display, say=args.say or "")
    finally:
        await close(agent, None)
    print_outcome(result, file=args.file if launch_of(records) is None else None)
    if not (args.quiet or args.json):
        show_files(result)
    return exit_codes.code_of(result)


def with_stubs(toolkit: Toolkit, records: Sequence[Record]) -> Toolkit:
    """Declare the tools of the run that are not here as external: a person supplies their results."""
    state = fold(records)
    names = {*toolkit.names, *(state.started.client_tools if state.started is not None else ())}
    others = (schema for schema in state.tools if schema.name not in names)  # a client's come with the run
    return Toolkit([*toolkit, *(external_tool(one.name, one.description, one.parameters) for one in others)])


async def _replies(journal: Journal, run_id: str) -> int:
    """Count the replies of the run and of those inside it."""
    records = await journal.load(run_id)
    inside = await journal.list(parent=run_id, limit=1000)
    here = sum(isinstance(record.event, (ThinkDone, ThinkFailed)) for record in records)
    return here + sum([await _replies(journal, child.run_id) for child in inside if not is_search(child.run_id)])


def relaunch(args: argparse.Namespace, records: Sequence[Record], *, only_look: bool = False) -> Launch:
    """Describe how to build the run's agent again: as it was started, changed by the options. Where nothing runs
    (`only_look`), tools that are not here need not be given: what they returned is in the log."""
    launch = launch_of(records)
    if launch is None:
        return _launch_from_options(argparse.Namespace(**vars(args)) if only_look else args, records, only_look)
    changes = {name: getattr(args, name) for name in ("preset", "system", "plan") if getattr(args, name)}
    if args.model or args.file:
        now, _ = launch_from(args)
        changes |= {"model": now.model, "file": now.file}
    if args.tools:
        changes |= {"tools": tuple(args.tools), "folder": str(Path.cwd())}
    elif REDACTED in launch.tools:
        raise ConfigError(
            "a tool of this run had a secret as a parameter, which is not recorded: give its tools again with --tools"
        )
    if args.skills:
        changes["skills"] = skills_from(args)
    if args.ask:
        changes["ask"] = tuple(args.ask)
    return msgspec.structs.replace(launch, **changes)


def _launch_from_options(args: argparse.Namespace, records: Sequence[Record], only_look: bool) -> Launch:
    """Describe the agent of a run that was not started by this user here; only default tools are found by name."""
    started = records[0].event
    tools = [tool.name for tool in started.tools] if isinstance(started, RunStarted) else []
    steps = any(isinstance(record.event, StepStarted) for record in records)
    if only_look and tools and not (args.file or args.tools or set(tools) <= set(toolbox.DEFAULT_TOOLS)):
        args.tools = [toolbox.STUBS]
    if not args.file and (steps or not (args.tools or set(tools) <= set(toolbox.DEFAULT_TOOLS))):
        needed = (
            "its document with -f"
            if steps
            else f"its tools ({', '.join(tools)}) with --tools (or --tools stubs, to give their results yourself), "
            "its model with --model"
        )
        raise ConfigError(f"this run was not started here, so its agent is not known: give {needed}")
    args.tools = args.tools or tools or ["none"]
    _choose_recorded_model(args, records)
    launch, choice = launch_from(args)
    asked = started.model if isinstance(started, RunStarted) else ""
    if only_look and asked and not args.model and choice and re.split("[:#]", choice.spec, maxsplit=1)[-1] != asked:
        raise ConfigError(
            f"this run asked {asked!r}, and {choice.spec} would say nothing about it: name its model with --model, "
            f"as PROVIDER:{asked} or by the address of its server"
        )
    return launch


def _choose_recorded_model(args: argparse.Namespace, records: Sequence[Record]) -> None:
    """Go on with the model that a recorded program asked, where nobody names another one. Another would say nothing
    about the run: where the key is missing, that is an error."""
    exchanged = next((record.event for record in records if isinstance(record.event, Exchanged)), None)
    started = records[0].event
    if exchanged is None or args.model or args.file or not isinstance(started, RunStarted) or not started.model:
        return
    provider = provider_named(exchanged.protocol.partition(".")[0])
    args.model = f"{provider.name}:{started.model}"


def _answers(args: argparse.Namespace, records: Sequence[Record]) -> dict[str, Answer]:
    """Read the decisions of the options about the calls that wait; a later one counts more than an earlier one."""
    calls = waiting_calls(fold(records))
    undecided = [call.id for call in calls if not call.external]
    answers: dict[str, Answer] = dict.fromkeys(undecided, _YES) if args.yes else {}
    for allow, named in ((True, args.approve or ()), (False, args.deny or ())):
        for call_id in named:
            every = undecided if allow else [call.id for call in calls]
            answers |= dict.fromkeys(every if call_id == "all" else [call_id], allow)
    return answers


async def fork_run(args: argparse.Namespace, journal: Journal) -> int:
    new_id = await fork_of(journal, args.run, args.at)
    if args.go:
        step = "its last step" if args.at is None else f"step {args.at}"
        print(f"fork of {args.run[:8]} before {step}: {new_id[:8]}", file=sys.stderr)
        _choose_recorded_model(args, await journal.load(args.run))  # the copy may end before the first exchange
        return await resume(args, journal, new_id)
    print(new_id)
    print(f"resume it with: treadle runs resume {new_id[:8]}", file=sys.stderr)
    return 0


async def fork_of(journal: Journal, run_id: str, at: int | None = None) -> str:
    """Copy the run up to step `at` (the last one) with its own launch note: a signature is valid for one run only."""
    new_id = await fork(journal, run_id, at)
    launch = launch_of(await journal.load(run_id))
    if launch is not None:
        last = (await journal.load(new_id))[-1].seq
        await journal.append([Record(new_id, last + 1, time.time(), launch_note(new_id, launch))])
    return new_id
