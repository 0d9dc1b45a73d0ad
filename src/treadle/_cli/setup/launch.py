"""How a run is started at the terminal: what is needed to build the same agent again when the run is resumed.

It is recorded in the run's own log, signed with a key of this user. A log from elsewhere must not decide which code is
imported or which folder is opened here: without a valid signature, the user names the model and tools again.
"""

from __future__ import annotations

import argparse
import hmac
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from treadle._agent import presets
from treadle._agent.agent import Agent
from treadle._cli.display.notice import notice
from treadle._cli.display.text import wrapped
from treadle._cli.setup import toolbox
from treadle._cli.setup.user_config import UserConfig, read_user_config
from treadle._cli.workspace.instructions import instructions_text
from treadle._cli.workspace.launch_inputs import (
    inputs_line,
    instructions_from,
    skill_plugins,
    skills_from,
    still_trusted,
)
from treadle._engine.context import RunContext
from treadle._engine.core.decisions import Answer
from treadle._engine.plugin import Plugin
from treadle._journal import Journal, open_journal
from treadle._journal.keys import key_in
from treadle._models.base import Model
from treadle._models.catalog.default import Choice, choose, model_named, model_of
from treadle._plugins.guards.approval import Approval
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import ConfigError
from treadle._types.events import Noted, Record
from treadle._types.messages import ToolCall
from treadle._types.paths import state_folder

COMPONENT = "launch"
REDACTED = "[redacted]"
_SECRET_PARAMETER = re.compile(
    r"(?i)(?:key|token|secret|passw\w{0,20}|pwd)\s{0,20}=|://[^/:\s@]{0,200}:[^/\s@]{0,200}@"
)
"""A parameter whose name suggests a secret, or a URL that contains a password."""
AGENT, CODE = "terminal", "code"
"""The names of the terminal's agents in the log: in a chat, and of those that work on a folder."""


class Launch(Struct, frozen=True, omit_defaults=True):
    model: str = ""
    preset: str = ""
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    """The folders of the skills; each is used only as the user has accepted it."""
    instructions: tuple[str, ...] = ()
    """Files for the system prompt; each is read only while the user trusts its folder, or because it was named."""
    instructions_named: bool = False
    ask: tuple[str, ...] = ()
    """Tools that need approval, besides those that ask for it themselves."""
    file: str = ""
    system: str = ""
    plan: bool = False
    folder: str = ""
    settings: dict[str, Any] = {}
    workspace: str = ""
    """The backend of the folder that its runs work in; empty where they work in none."""
    network: bool = False
    hosts: tuple[str, ...] = ()
    allow: str = ""
    """Commands that need no question."""


def launch_from(args: argparse.Namespace) -> tuple[Launch, Choice | None]:
    """Read the launch that options and user config describe. The choice is None when a document names the model."""
    user = read_user_config()
    file = str(Path(args.file).expanduser().resolve()) if args.file else ""
    if file and args.preset:
        raise ConfigError(
            f"--preset {args.preset}: the agents of {args.file} have presets of their own: change them there, "
            "or single settings with --set NAME=VALUE"
        )
    choice = choose(args.model, user.model) if args.model or not file else None
    tools = tuple(args.tools or ()) or (() if file else user.tools or toolbox.DEFAULT_TOOLS)
    launch = Launch(
        model=_absolute(choice.spec) if choice else "",
        preset=args.preset or ("" if file else user.preset),
        tools=tools,
        skills=skills_from(args),
        instructions=instructions_from(args),
        instructions_named=bool(args.instructions),
        ask=tuple(args.ask or ()),
        file=file,
        system=args.system or ("" if file else user.system),
        plan=args.plan,
        folder=str(Path.cwd()),
        settings=settings_from(args, user),
        workspace=getattr(args, "workspace", "") or (default_workspace() if args.preset == "coding" else ""),
        network=getattr(args, "network", False),
        hosts=tuple(getattr(args, "host", None) or ()),
        allow="|".join(getattr(args, "allow", ())),
    )
    return launch, choice


def _absolute(spec: str) -> str:
    """Make the path of a script absolute, so that it is found from another folder too."""
    kind, _, path = spec.partition(":")
    return f"{kind}:{Path(path).expanduser().resolve()}" if kind == "scripted" else spec


def settings_from(args: argparse.Namespace, user: UserConfig) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    defaults = [f"{name}={msgspec.json.encode(value).decode()}" for name, value in user.settings.items()]
    for pair in [*defaults, *(args.set or ())]:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"--set {pair}: write name=value, such as --set temperature=0.2")
        _put(settings, name.strip().split("."), toolbox.value_of(value))
    if args.max_iterations is not None:
        settings["max_iterations"] = args.max_iterations
    if args.max_cost is not None:
        _put(settings, ["budget", "cost"], args.max_cost)
    if "budget" in settings:
        # At a terminal an answer from what is known so far is worth more than an error.
        settings.setdefault("on_budget", "force_answer")
    return settings


def _put(settings: dict[str, Any], path: Sequence[str], value: Any) -> None:
    for name in path[:-1]:
        settings = settings.setdefault(name, {})
    settings[path[-1]] = value


def journal_location(args: argparse.Namespace) -> str:
    """Return where runs are recorded, as `open_journal` reads it: empty for the user's own journal, `none` for nowhere.

    Nobody asked for the user's own journal: where it cannot be written, work goes on without it, after a notice.
    """
    location: str = args.journal or read_user_config().journal
    if location or not (problem := _problem_with_state()):
        return location
    notice.clear()
    print(f"treadle: runs are not recorded: {problem}; {_STATE_FIX}", file=sys.stderr, flush=True)
    return "none"


_STATE_FIX = "set TREADLE_STATE to a folder that can be written, or give --journal FILE"


def _problem_with_state() -> str:
    folder = state_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        return f"the folder {folder} cannot be created ({error.strerror})"
    for path in (folder, folder / "journal.db"):
        if path.exists() and not os.access(path, os.W_OK):
            return f"{path} cannot be written"
    return ""


def journal_from(args: argparse.Namespace) -> Journal | None:
    location = journal_location(args)
    return None if location == "none" else open_journal(location or None)


def existing_journal(args: argparse.Namespace, *, may_be_new: bool = False) -> Journal:
    """Open the journal for commands about recorded runs, which need one; an import may begin a new file."""
    location: str = args.journal or read_user_config().journal
    if location == "none":
        raise ConfigError("there are no recorded runs without a journal: omit --journal none, or give a file")
    if not location and (problem := _problem_with_state()):
        raise ConfigError(f"there are no recorded runs: {problem}; {_STATE_FIX}")
    journal = open_journal(location or None)
    path: Path | None = getattr(journal, "path", None)
    if args.journal and not may_be_new and path is not None and not path.exists():
        raise ConfigError(f"--journal {args.journal}: there is no such file; correct the path")
    return journal


def build_agent(
    launch: Launch,
    *,
    journal: Journal | None,
    approval: Approval,
    yes: bool = False,
    skip: int = 0,
    streaming: bool = False,
    note: bool = True,
    model: Model | None = None,
) -> Agent:
    """Build the agent that a launch describes.

    `skip` is the number of replies of a scripted model that were used before; `model` is one that is open already.
    """
    approval = Approval(_say_yes) if yes else approval
    plugins: list[Any] = [LaunchNote(launch), approval] if note else [approval]
    plugins += skill_plugins(launch.skills)
    if launch.plan:
        from treadle._plugins.thinking.planner import Planner

        plugins.append(Planner())
    if model is None and launch.model:
        model = model_named(launch.model, skip=skip) if skip else model_of(Choice(launch.model, ""))
    instructions = instructions_text(still_trusted(launch.instructions, launch.instructions_named))
    if launch.file:
        agent = _from_file(launch, model)
        _allow_mentions(agent)
        if isinstance(agent.instructions, str):
            agent.instructions = "\n\n".join(filter(None, (instructions, agent.instructions)))
    else:
        assert model is not None, "a launch without a document has a model"
        tools = toolbox.find_tools(launch.tools, launch.folder)
        try:
            agent = Agent(
                model,
                tools or None,
                preset=presets.get(launch.preset or "default"),
                system=launch.system,
                instructions=instructions,
                name=CODE if launch.workspace else AGENT,
                **_workspace(launch),
                **launch.settings,
            )
        except TypeError as error:
            raise ConfigError(str(error)) from None
    agent.plugins = (*agent.plugins, *plugins)
    if launch.ask:
        _check_names(agent, launch.ask)
        agent.settings = agent.settings.with_changes({"ask": (*agent.settings.ask, *launch.ask)})
    agent.journal = journal
    defaults: dict[str, Any] = {"probe": True}
    if agent.settings.provenance == "off":
        defaults["provenance"] = "ask"  # here is somebody to ask
    if streaming:
        defaults["stream_thoughts"] = True
    changes = {name: value for name, value in defaults.items() if name not in launch.settings}
    agent.settings = agent.settings.with_changes(changes)
    return agent


def default_workspace() -> str:
    """Return the backend where none is named: the one in which nothing needs a question, if it can be had here."""
    from treadle._workspace.backends import can_isolate

    return "sandbox" if can_isolate() else "copy"


def _workspace(launch: Launch) -> dict[str, Any]:
    """Return the options of an agent that works on the folder of its launch."""
    if not launch.workspace:
        return {}
    from treadle._workspace.coding import Coding
    from treadle._workspace.workspace import Workspace

    backend: Any = launch.workspace
    workspace = Workspace(launch.folder, backend=backend, network=launch.network or launch.hosts)
    return {"workspace": workspace, "plugins": [Coding(allow=launch.allow)]}


def unattended_agent(args: argparse.Namespace, journal: Journal | None = None, *, quiet: bool = False) -> Agent:
    """Build the agent of the options for a command that asks nobody at this terminal, and print its model."""
    launch, choice = launch_from(args)
    agent = build_agent(launch, journal=journal, approval=Approval(), yes=args.yes, note=journal is not None)
    print_choice(choice, launch, quiet=quiet)
    return agent


def _allow_mentions(agent: Agent) -> None:
    """Let a question name resources of MCP servers: whoever asks here owns what the servers can read."""
    from treadle._plugins.mcp import McpTools

    for plugin in agent.plugins:
        if isinstance(plugin, McpTools):
            plugin.mentions = True


def _from_file(launch: Launch, model: Model | None) -> Agent:
    """Load the agent of a document, with the model, tools and settings of the command line instead of its own."""
    from treadle._config import load_agent
    from treadle._config.graph import GraphAgent

    agent = load_agent(launch.file, model=model)
    if isinstance(agent, GraphAgent) and (launch.tools or launch.system):
        option, what = ("--tools", "tools") if launch.tools else ("--system", "sys_prompt")
        raise ConfigError(
            f"{option}: each component of {launch.file} has {what} of its own: "
            f"change `{what}` there, under obj.params of the component that is meant, or omit {option}"
        )
    if launch.tools:
        agent.toolkit = Toolkit(toolbox.find_tools(launch.tools, launch.folder))
    agent.system = launch.system or agent.system
    agent.settings = agent.settings.with_changes(launch.settings)
    return agent


async def _say_yes(call: ToolCall) -> Answer:
    """Allow every call, for --yes. The gate asks about the calls of all agents inside this one, too."""
    return {"allow": True, "by": "--yes"}


def _check_names(agent: Agent, ask: Sequence[str]) -> None:
    """Check the names of --ask: a misspelt one would protect nothing. Tools of MCP servers come later, with the run."""
    names = {*agent.toolkit.names, *(tool.name for plugin in agent.plugins for tool in getattr(plugin, "tools", ()))}
    if not any(getattr(plugin, "brings_tools", False) for plugin in agent.plugins):
        agent.toolkit.filtered(name for name in ask if name != "all" and name not in names)


# ---- in the run's log


class LaunchNote(Plugin):
    name = COMPONENT

    def __init__(self, launch: Launch) -> None:
        self.launch = launch

    async def on_start(self, run: RunContext) -> None:
        if run.stored:
            await run.emit(launch_note(run.id, self.launch))


def launch_note(run_id: str, launch: Launch) -> Noted:
    tools = tuple(REDACTED if _SECRET_PARAMETER.search(spec) else spec for spec in launch.tools)
    launch = msgspec.structs.replace(launch, tools=tools)
    return Noted(COMPONENT, {"launch": msgspec.to_builtins(launch), "seal": _signature(run_id, launch)})


def launch_of(records: Sequence[Record]) -> Launch | None:
    """Return how this user started the run here; None when the log has no note with a valid signature."""
    notes = [r.event.data for r in records if isinstance(r.event, Noted) and r.event.component == COMPONENT]
    for note in reversed(notes):
        try:
            launch = msgspec.convert(note.get("launch"), Launch)
        except msgspec.ValidationError:
            continue
        if hmac.compare_digest(_signature(records[0].run, launch), str(note.get("seal", ""))):
            return launch
    return None


def _signature(run_id: str, launch: Launch) -> str:
    sealed = run_id.encode() + b"\n" + msgspec.json.encode(launch, order="deterministic")
    return hmac.digest(key_in(state_folder() / "launch.key"), sealed, "sha256").hex()


def _first_time(hint: str) -> bool:
    """Return whether this user has not seen a hint yet; where that cannot be stored, it is not shown at all."""
    mark = state_folder() / "said" / hint
    try:
        if mark.exists():
            return False
        mark.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        mark.touch()
    except OSError:
        return False
    return True


def print_choice(choice: Choice | None, launch: Launch | None = None, *, quiet: bool = False) -> None:
    """Print the model and why it is the one; with a launch also the instructions and skills of the agent."""
    lines = [f"model: {choice.spec} ({choice.reason})"] if choice is not None else []
    if launch is not None and (line := inputs_line(launch.instructions, launch.skills)):
        lines.append(line)
    if quiet or not lines:
        return
    if choice is not None and choice.spec.startswith("local:"):
        from treadle._local.default import FIRST_NOTICE, NOTICE, install_hints

        lines += [NOTICE] if choice.last_resort and _first_time(FIRST_NOTICE) else []
        lines += install_hints(choice.spec)
    notice.clear()
    for line in lines:
        print(wrapped(line, rest="  ", to=sys.stderr), file=sys.stderr, flush=True)
