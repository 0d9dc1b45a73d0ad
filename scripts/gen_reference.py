"""Write the reference pages from the code: public names, events, settings, errors, providers, commands, layers.

python scripts/gen_reference.py            # writes docs/reference/*.md and docs/reference/layers.svg
python scripts/gen_reference.py --check    # names the pages that do not match the code
"""

from __future__ import annotations

import argparse
import inspect
import re
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
from markdown_tables import Field, code, doc, fields_of, list_of, own_list, properties_of, said_often
from msgspec import Struct
from reference_pages import PAGES as MORE_PAGES

from treadle._agent import presets
from treadle._agent.agent import Agent, AgentDetails
from treadle._cli.command_table import COMMANDS, build_parser
from treadle._engine import options as options_module
from treadle._engine import settings as settings_module
from treadle._engine.core.execution import NO_DEPS
from treadle._local.weights.recommended import CHOICES
from treadle._models.catalog import providers as providers_module
from treadle._models.transport import retry as retry_module
from treadle._plugins.guards.approval import PolicyGuard
from treadle._server import settings as server_module
from treadle._types import errors as errors_module
from treadle._types import events as events_module
from treadle._types.dag_events import PlannedStep
from treadle._types.workspace_events import TreeChanges

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
        "All of these are imported from `treadle.events`. As JSON, "
        "`type` is the name in small letters (`run_started`), unless another one is given.\n\n"
        f"The version of these shapes is {events_module.SCHEMA}. Older logs are upgraded when they are read.\n\n"
        "## Record\n\n"
        + doc(events_module.Record)
        + own_list(events_module.Record)
        + properties_of(events_module.Record)
    ]
    inside = (events_module.Artifact, events_module.PlanStep, PlannedStep, events_module.Sent, TreeChanges)
    often = said_often((*kinds, *inside))
    parts.append(
        "\n## Fields that many have\n\nFields at the end of a list, without words, are these, or say what they are.\n\n"
    )
    parts += [f"- `{name}`: {words}\n" for name, words in often]
    for title, introduction, transient in (
        ("Stored events", "They are in the log; the state of a run is computed from them.", False),
        ("Transient events", "They are shown to those who watch a run, and never stored.", True),
    ):
        parts.append(f"\n## {title}\n\n{introduction}\n")
        for kind in kinds:
            if (kind in events_module.TRANSIENT) is transient:
                tag = str(kind.__struct_config__.tag)
                other = "" if tag == snake_case(kind.__name__) else f"`type: {tag}`\n\n"
                parts.append(f"\n### {kind.__name__}\n\n{other}" + doc(kind) + own_list(kind, often))
                parts.append(properties_of(kind))
    parts.append("\n## Values inside events\n")
    parts += [f"\n### {kind.__name__}\n\n" + doc(kind) + own_list(kind, often) for kind in inside]
    return "".join(parts)


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


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
        rows = [row._replace(default=defaults[row.name].default) for row in fields_of(group, settings_module)]
        parts.append(f"\n## {group.__name__}\n\n`{keyword}=`: {doc(group)}{list_of(rows)}")
    budgets = (settings_module.Budget, settings_module.SharedBudget)
    policies = (*budgets, settings_module.RepairPolicy, retry_module.RetryPolicy)
    parts += [f"\n## {kind.__name__}\n\n" + doc(kind) + own_list(kind) for kind in policies]
    parts.append("\n## Presets\n\nWhat each preset changes, and the plug-ins it brings.\n\n" + presets_table())
    parts.append("\n## ServerSettings\n\n" + doc(server_module.ServerSettings) + own_list(server_module.ServerSettings))
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
    rows: list[Field] = []
    for name, default in keywords.items():
        field = described.get(name) or Field(name, _KINDS.get(name, "Any"), "", "")
        shown = "" if default is NO_DEPS else repr(default)
        group = settings_module.GROUPS.get(name)
        below = f"[below](#{group.__name__.lower()})" if group else ""
        rows.append(Field(name, field.kind, shown, below or field.description or words_for(words, name)))
    return list_of(rows)


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
        plugins = [plugin_class(plugin) for plugin in preset.plugins(preset.settings)]
        of_default = [plugin_class(plugin) for plugin in presets.get("default").plugins(plain)]
        if name != "default" and set(of_default) <= set(plugins):
            plugins = [plugin for plugin in plugins if plugin not in of_default] + ["those of `default`"]
        changed = " ".join(map(code, changed_fields(preset.settings, plain)))
        lines.append(f"| `{name}` | {changed or 'none'} | {', '.join(plugins) or 'none'} |")
    return "\n".join(lines) + "\n"


def changed_fields(value: Struct, plain: Struct) -> list[str]:
    """The fields that differ from those of another value; of a value inside it only what differs in there."""
    changed: list[str] = []
    for field in plain.__struct_fields__:
        here, there = getattr(value, field), getattr(plain, field)
        if here != there:
            inside = (
                f"{type(here).__name__}({', '.join(changed_fields(here, there))})" if isinstance(here, Struct) else ""
            )
            changed.append(f"{field}={inside or repr(here)}")
    return changed


def errors_page() -> str:
    tree = (errors_module.__doc__ or "").strip()
    return f"{NOTE}# Errors\n\n```text\n{tree}\n```\n\nAll of them are imported from `treadle`.\n"


def providers_page() -> str:
    lines = [
        NOTE + "# Providers\n",
        'A model is named `"provider:model"` or `"model@Provider"`. '
        "Case, spaces and underscores in the provider's name do not matter. Behind the name: its other names, its "
        "address, the variable with the key, and that with another address.\n",
    ]
    for name, provider in providers_module.PROVIDERS.items():
        if name != provider.name:
            continue
        keys = " or ".join(f"`{variable}`" for variable in (provider.key_env, provider.also_key_env) if variable)
        if keys and not provider.needs_key:
            keys += " (optional)"
        names = "".join(f", `{alias}`" for alias in provider.aliases)
        facts = ", ".join(filter(None, (code(provider.base_url), keys, code(provider.base_env))))
        lines.append(f"- `{provider.name}`{names}{': ' if facts else ''}{facts}")
    models = [f"- {code(one.name)}: {one.repo}, {one.gigabytes:g} GB, {one.licence}" for one in CHOICES.values()]
    lines += ["\n## Local models\n", "Short names of files for `local:NAME`; none of these models was measured here.\n"]
    return "\n".join([*lines, *models]) + "\n"


def cli_page() -> str:
    """From the parsers, not from their help text: that one depends on the terminal and on Python's version."""
    parser, _modules = build_parser(list(COMMANDS))
    parts = [
        NOTE + "# The command line\n\n",
        f"```text\n{(parser.description or '').strip()}\n\n{(parser.epilog or '').strip()}\n```\n\n"
        "An option with `...` may be repeated.\n",
    ]
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    counts = Counter(row for command in commands.choices.values() for row in all_rows(command))
    of_agents = [row for row, count in counts.items() if count >= SHARED_BY[0] and row[0].startswith("`-")]
    named = {name for name, _ in of_agents}
    others: Rows = []
    for row, count in counts.most_common():
        if (count - 1) * len(row[1].split()) >= SHARED_BY[1] and row[
            0
        ] not in named:  # another meaning of a name is told where it is
            others.append(row)
            named.add(row[0])
    parts.append("\n## Agent options\n\n" + described(of_agents))
    parts.append("\n## Arguments that many commands have\n\n" + described(others))
    for name, command in commands.choices.items():
        parts.append(command_text(f"treadle {name}", command, "##", of_agents, others))
    return "".join(parts)


SHARED_BY = (10, 7)
"""Options that so many commands have are those of an agent; what takes so many words again is explained once, too."""
Rows = list[tuple[str, str]]


def described(rows: Rows) -> str:
    return "".join(f"- {name}: {meaning}\n" for name, meaning in rows)


def command_text(path: str, parser: argparse.ArgumentParser, level: str, of_agents: Rows, others: Rows) -> str:
    rows = option_rows(parser)
    given = [name for name, meaning in rows if (name, meaning) in of_agents]
    more = [first_word(name) for name, meaning in rows if (name, meaning) in others]
    if len(given) > len(of_agents) / 2:
        more.append("[agent options](#agent-options)")
    else:
        more += map(first_word, given)
    same = {meaning: f"as {name}" for name, meaning in others}
    own = [(name, same.get(text, text)) for name, text in rows if (name, text) not in (*of_agents, *others)]
    texts = [
        f"{level} {path}\n",
        f"{parser.description.strip()}\n" if parser.description else "",
        described(own),
        f"Also {', '.join(more)}.\n" if more else "",
    ]
    inner = [
        command_text(f"{path.removeprefix('treadle ')} {name}", part, level + "#", of_agents, others)
        for name, part in commands_below(parser)
    ]
    return "\n" + "\n".join(text for text in texts if text) + "".join(inner)


def first_word(name: str) -> str:
    return re.sub(r"`(?:-\w, )?([-\w]+).*", r"`\1`", name)


def option_rows(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    hidden = (argparse._SubParsersAction, argparse._HelpAction)
    shown = [one for one in parser._actions if not isinstance(one, hidden) and one.help != argparse.SUPPRESS]
    return [(f"`{invocation(action)}`", (action.help or "").removesuffix("; may be repeated")) for action in shown]


def commands_below(parser: argparse.ArgumentParser) -> list[tuple[str, argparse.ArgumentParser]]:
    """Without their aliases."""
    found: dict[int, tuple[str, argparse.ArgumentParser]] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, part in action.choices.items():
                found.setdefault(id(part), (name, part))
    return list(found.values())


def all_rows(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    return option_rows(parser) + [row for _, part in commands_below(parser) for row in all_rows(part)]


def invocation(action: argparse.Action) -> str:
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""
    if not action.option_strings:
        metavar = action.metavar if isinstance(action.metavar, str) else choices or action.dest
        return f"[{metavar}]" if action.nargs in ("?", "*") else f"{metavar} ..." if action.nargs == "+" else metavar
    names = ", ".join(action.option_strings)
    if action.nargs == 0:
        return names
    more = " ..." if isinstance(action, argparse._AppendAction) else ""
    return f"{names} {choices or action.metavar or action.dest.upper()}{more}"


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
