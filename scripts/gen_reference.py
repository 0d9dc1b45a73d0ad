"""Write the reference pages from the code: public names, events, settings, errors, providers, commands, layers.

python scripts/gen_reference.py            # writes docs/reference/*.md and docs/reference/layers.svg
python scripts/gen_reference.py --check    # names the pages that do not match the code
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from api_reference import api_page
from concept_pictures import PICTURES
from field_words import words_for
from layers import picture
from markdown_tables import Field, cell, code, doc, fields_of, own_table, properties_of, rows_of, table_of
from msgspec import Struct
from reference_pages import PAGES as MORE_PAGES

from treadle._agent import presets
from treadle._agent.agent import Agent, AgentDetails
from treadle._cli.command_table import COMMANDS, build_parser
from treadle._engine import options as options_module
from treadle._engine import settings as settings_module
from treadle._engine.core.execution import NO_DEPS
from treadle._models.catalog import providers as providers_module
from treadle._models.transport import retry as retry_module
from treadle._plugins.guards.approval import PolicyGuard
from treadle._server import settings as server_module
from treadle._types import errors as errors_module
from treadle._types import events as events_module
from treadle._types.dag_events import PlannedStep

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"
IMAGES = ROOT / "docs" / "images"
_KINDS = {
    "follows": "str",
    "client_tools": "Sequence[Tool]",
    "output_schema": "dict[str, Any] | None",
    "constraint": "ReplyConstrained | None",
}
"""The types of keywords that are for servers, and no part of the options for type checkers."""
NOTE = "<!-- Written by scripts/gen_reference.py; do not edit. -->\n\n"


def events_page() -> str:
    kinds: tuple[type[Struct], ...] = events_module.Event.__args__  # pyright: ignore[reportAttributeAccessIssue]
    parts = [
        NOTE + "# Events\n\n"
        "A run is a list of records; a record is an event and its position in the log. "
        "All of these are imported from `treadle.events`.\n\n"
        f"The version of these shapes is {events_module.SCHEMA}. Older logs are upgraded when they are read.\n\n"
        "## Record\n\n"
        + doc(events_module.Record)
        + table_of(events_module.Record, events_module)
        + properties_of(events_module.Record)
    ]
    for title, introduction, transient in (
        ("Stored events", "They are in the log; the state of a run is computed from them.", False),
        ("Transient events", "They are shown to those who watch a run, and never stored.", True),
    ):
        parts.append(f"\n## {title}\n\n{introduction}\n")
        for kind in kinds:
            if (kind in events_module.TRANSIENT) is transient:
                tag = kind.__struct_config__.tag
                parts.append(f"\n### {kind.__name__}\n\n`type: {tag}`\n\n" + doc(kind) + own_table(kind))
                parts.append(properties_of(kind))
    parts.append("\n## Values inside events\n")
    inside = (events_module.Artifact, events_module.PlanStep, PlannedStep, events_module.Sent)
    parts += [f"\n### {kind.__name__}\n\n" + doc(kind) + own_table(kind) for kind in inside]
    return "".join(parts)


def settings_page() -> str:
    parts = [
        NOTE + "# Settings\n\n"
        "Settings come in groups, `Agent(..., limits=RunLimits(max_iterations=5))`, or by their flat names, "
        "`Agent(..., max_iterations=5)`. Both work for one run as well: `agent.run(question, temperature=0.2)`. "
        "An unknown name is an error that says which one was meant.\n\n"
        "## Agent\n\nWhat `Agent(model, tools, ...)` takes by name. `model` is a name "
        '(`"openai:gpt-5-mini"`, see [providers](providers.md)), an address or a `Model`; `tools` is a list of '
        'functions, tools and names of [built-in tools](tools.md) (`["calculator"]`), or None for an agent without.\n\n'
        + agent_table(keywords_of(Agent.__init__))
        + "\nMore keywords, beside every setting:\n\n"
        + agent_table(msgspec.structs.asdict(AgentDetails()))
        + "\n## A run\n\nWhat `agent.run`, `run_sync`, `start`, `stream` and their like take by name, beside every "
        "setting.\n\n"
        + options_table(keywords_of(Agent.prepare), fields_of(options_module.RunOptions, options_module), "RunOptions")
        + "\n## Settings\n\n"
        + doc(settings_module.Settings).rstrip("\n")
        + "\n"
    ]
    defaults = {field.name: field for field in fields_of(settings_module.Settings, settings_module)}
    for keyword, group in settings_module.GROUPS.items():
        rows = [
            (code(field.name), code(field.kind), code(defaults[field.name].default), cell(field.description))
            for field in fields_of(group, settings_module)
        ]
        table = rows_of(("setting", "type", "default", "meaning"), rows)
        parts.append(f"\n## {group.__name__}\n\n`{keyword}=`: {doc(group)}{table}")
    for kind, module in (
        (settings_module.Budget, settings_module),
        (settings_module.RepairPolicy, settings_module),
        (retry_module.RetryPolicy, retry_module),
    ):
        parts.append(f"\n## {kind.__name__}\n\n" + doc(kind) + table_of(kind, module))
    parts.append("\n## Presets\n\nWhat each preset changes, and the plug-ins it brings.\n\n" + presets_table())
    parts.append(
        "\n## ServerSettings\n\n"
        + doc(server_module.ServerSettings)
        + table_of(server_module.ServerSettings, server_module)
    )
    return "".join(parts)


def keywords_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The keyword-only parameters of a function, with their defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {one.name: one.default for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}


def agent_table(keywords: dict[str, Any]) -> str:
    options = (options_module.AgentOptions, options_module.MoreAgentOptions, options_module.SettingOptions)
    fields = [field for kind in options for field in fields_of(kind, options_module)]
    return options_table(keywords, fields, "AgentOptions")


def options_table(keywords: dict[str, Any], fields: list[Field], words: str) -> str:
    """The keywords with their defaults and the docstrings under the fields of their options."""
    described = {field.name: field for field in fields}
    rows: list[tuple[str, str, str, str]] = []
    for name, default in keywords.items():
        field = described.get(name) or Field(name, _KINDS.get(name, "Any"), "", "")
        shown = "none" if default is NO_DEPS else code(repr(default))
        rows.append((code(name), code(field.kind), shown, cell(field.description or words_for(words, name))))
    return rows_of(("keyword", "type", "default", "meaning"), rows)


def plugin_class(plugin: Any) -> str:
    """The class of a plug-in, or of the guard that it stands for: `give_up_guard` is a `GiveUpGuard`."""
    if isinstance(plugin, PolicyGuard):
        return plugin.name.title().replace("_", "")
    return type(plugin).__name__


def presets_table() -> str:
    lines = ["| preset | settings that differ from the defaults | plug-ins |", "|---|---|---|"]
    plain = settings_module.Settings()
    for name in presets.names():
        preset = presets.get(name)
        changed = [
            f"{field}={getattr(preset.settings, field)!r}"
            for field in plain.__struct_fields__
            if getattr(preset.settings, field) != getattr(plain, field)
        ]
        plugins = [plugin_class(plugin) for plugin in preset.plugins(preset.settings)]
        lines.append(f"| `{name}` | {' '.join(map(code, changed)) or 'none'} | {', '.join(plugins) or 'none'} |")
    return "\n".join(lines) + "\n"


def errors_page() -> str:
    tree = (errors_module.__doc__ or "").strip()
    return f"{NOTE}# Errors\n\n```text\n{tree}\n```\n\nAll of them are imported from `treadle`.\n"


def providers_page() -> str:
    lines = [
        NOTE + "# Providers\n",
        'A model is named `"provider:model"` or `"model@Provider"`. '
        "Case, spaces and underscores in the provider's name do not matter.\n",
        "| provider | address | key | other address from | also called |",
        "|---|---|---|---|---|",
    ]
    for name, provider in providers_module.PROVIDERS.items():
        if name != provider.name:
            continue
        keys = " or ".join(f"`{variable}`" for variable in (provider.key_env, provider.also_key_env) if variable)
        if keys and not provider.needs_key:
            keys += " (optional)"
        aliases = ", ".join(f"`{alias}`" for alias in provider.aliases)
        cells = [f"`{provider.name}`", code(provider.base_url), keys, code(provider.base_env), aliases]
        lines.append(f"| {' | '.join(given or 'none' for given in cells)} |")
    return "\n".join(lines) + "\n"


def cli_page() -> str:
    """From the parsers, not from their help text: that one depends on the terminal and on Python's version."""
    parser, _modules = build_parser(list(COMMANDS))
    parts = [
        NOTE + "# The command line\n\n",
        f"```text\n{(parser.description or '').strip()}\n\n{(parser.epilog or '').strip()}\n```\n",
    ]
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    counts = Counter(row for command in commands.choices.values() for row in all_rows(command))
    shared = [row for row, count in counts.items() if count >= SHARED_BY]
    parts.append("\n## Options of commands that run an agent\n\n" + rows_of(("option", "meaning"), shared))
    for name, command in commands.choices.items():
        parts.append(command_text(f"treadle {name}", command, "##", shared))
    return "".join(parts)


SHARED_BY = 10
"""An option of so many commands is explained once for all of them."""


def command_text(path: str, parser: argparse.ArgumentParser, level: str, shared: list[tuple[str, str]]) -> str:
    parts = [f"\n{level} {path}\n\n"]
    if parser.description:
        parts.append(parser.description.strip() + "\n\n")
    rows = option_rows(parser)
    if own := [row for row in rows if row not in shared]:
        parts.append(rows_of(("option", "meaning"), own))
    if len(own) < len(rows):
        parts.append("\nAnd the [options of commands that run an agent](#options-of-commands-that-run-an-agent).\n")
    inner = [command_text(f"{path} {name}", part, level + "#", shared) for name, part in commands_below(parser)]
    return "".join(parts + inner)


def option_rows(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    hidden = (argparse._SubParsersAction, argparse._HelpAction)
    shown = [one for one in parser._actions if not isinstance(one, hidden) and one.help != argparse.SUPPRESS]
    return [(code(invocation(action)), cell(action.help or "")) for action in shown]


def commands_below(parser: argparse.ArgumentParser) -> list[tuple[str, argparse.ArgumentParser]]:
    """Without their aliases."""
    found: dict[int, tuple[str, argparse.ArgumentParser]] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, part in action.choices.items():
                found.setdefault(id(part), (name, part))
    return list(found.values())


def all_rows(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    rows = [row for row in option_rows(parser) if row[0].startswith("`-")]
    return rows + [row for _, part in commands_below(parser) for row in all_rows(part)]


def invocation(action: argparse.Action) -> str:
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""
    if not action.option_strings:
        metavar = action.metavar if isinstance(action.metavar, str) else choices or action.dest
        return f"[{metavar}]" if action.nargs in ("?", "*") else f"{metavar} ..." if action.nargs == "+" else metavar
    names = ", ".join(action.option_strings)
    if action.nargs == 0:
        return names
    return f"{names} {choices or action.metavar or action.dest.upper()}"


def pages() -> dict[Path, str]:
    return {
        FOLDER / "api.md": api_page(NOTE),
        FOLDER / "events.md": events_page(),
        FOLDER / "settings.md": settings_page(),
        FOLDER / "errors.md": errors_page(),
        FOLDER / "providers.md": providers_page(),
        FOLDER / "cli.md": cli_page(),
        FOLDER / "layers.svg": picture(),
        **{IMAGES / f"concept-{name}.svg": drawn() for name, drawn in PICTURES.items()},
        **{FOLDER / name: page(NOTE) for name, page in MORE_PAGES.items()},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page does not match the code")
    check = parser.parse_args().check
    stale: list[str] = []
    for path, text in pages().items():
        if path.exists() and path.read_text("utf-8") == text:
            continue
        stale.append(path.relative_to(ROOT).as_posix())
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", newline="\n")
    for name in stale:
        print(f"{'stale' if check else 'wrote'}: {name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
