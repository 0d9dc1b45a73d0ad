"""`treadle completion`: scripts for shells, made from the program's argument parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

SHELLS = ("bash", "zsh", "fish")
_RUN_IDS = "treadle runs list --ids -n 50 2>/dev/null"
_FILES = ("file", "journal", "output", "tokens", "files")
"""Options and arguments whose values are files."""


class Option(Struct, frozen=True):
    flags: tuple[str, ...]
    help: str
    takes_value: bool
    values: tuple[str, ...] = ()
    is_file: bool = False


class Node(Struct, frozen=True):
    """A command or action: `path` is what is typed after `treadle`."""

    path: tuple[str, ...]
    children: dict[str, str]
    """The names that may follow, with a line about each."""
    options: list[Option]
    wants_run: bool = False
    values: tuple[str, ...] = ()


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "completion",
        description="Print a completion script for a shell.",
        epilog='bash: eval "$(treadle completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc after compinit; '
        "fish: treadle completion fish > ~/.config/fish/completions/treadle.fish",
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell to write it for")


def run(args: argparse.Namespace) -> int:
    nodes = list(nodes_of(*args.every_command()))
    print({"bash": bash, "zsh": zsh, "fish": fish}[args.shell](nodes))
    return 0


def nodes_of(
    parser: argparse.ArgumentParser, summaries: Mapping[str, str], path: tuple[str, ...] = ()
) -> Iterator[Node]:
    """Yield every command and action of a parser; `summaries` has a line about commands without a help text."""
    options: list[Option] = []
    children: dict[str, argparse.ArgumentParser] = {}
    lines: dict[str, str] = {}
    wants_run, values = False, ()
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage] - argparse has no other way to ask
        if action.help == argparse.SUPPRESS:
            continue
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
            children = dict(cast(Mapping[str, argparse.ArgumentParser], action.choices or {}))
            lines = {choice.dest: choice.help or "" for choice in action._choices_actions}  # pyright: ignore[reportPrivateUsage]
        elif action.option_strings:
            flags = tuple(action.option_strings)
            options.append(Option(flags, action.help or "", action.nargs != 0, _values(action), action.dest in _FILES))
        else:
            wants_run = wants_run or action.dest in ("run", "runs")
            values = _values(action)
    lines = {name: lines.get(name) or summaries.get(name, "") for name in children}
    yield Node(path, lines, options, wants_run, values)
    for name, child in children.items():
        yield from nodes_of(child, summaries, (*path, name))


def _values(action: Any) -> tuple[str, ...]:
    """List the possible values of an option or argument; empty when they are not known."""
    if action.dest == "tools":
        from treadle._tools.builtin import BUILTINS

        return (*sorted(BUILTINS), "none")
    return tuple(map(str, action.choices or ()))


def _flags(node: Node) -> str:
    return " ".join(flag for option in node.options for flag in option.flags)


def bash(nodes: list[Node]) -> str:
    """Write a script that finds the command among the typed words and offers its options; zsh uses it too."""
    paths = "|".join(" ".join(node.path) for node in nodes if node.path)
    cases = "\n".join(
        f'    "{" ".join(node.path)}") words="{" ".join((*node.children, *node.values))}"; flags="{_flags(node)}" ;;'
        for node in nodes
    )
    takes_run = "|".join(f'"{" ".join(node.path)}"' for node in nodes if node.wants_run)
    flags_by_offer: dict[str, set[str]] = {}
    for option in (option for node in nodes for option in node.options if option.takes_value):
        offer = f'-W "{" ".join(option.values)}"' if option.values else "-f" if option.is_file else '-W ""'
        flags_by_offer.setdefault(offer, set()).update(option.flags)
    option_cases = "\n".join(
        f'    {"|".join(sorted(names))}) COMPREPLY=($(compgen {offer} -- "$cur")); return ;;'
        for offer, names in sorted(flags_by_offer.items())
    )
    return f"""# treadle completion for bash
_treadle() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" path="" word words flags i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${{COMP_WORDS[i]}}"
    case "|{paths}|" in *"|${{path:+$path }}$word|"*) path="${{path:+$path }}$word" ;; esac
  done
  case "$prev" in
{option_cases}
  esac
  case "$path" in
{cases}
  esac
  case "$path" in {takes_run}) [[ "$cur" == -* ]] || words="last $({_RUN_IDS})" ;; esac
  [[ "$cur" == -* || -z "$words" ]] && words="$flags"
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -F _treadle treadle"""


def zsh(nodes: list[Node]) -> str:
    return f"""# treadle completion for zsh
autoload -U +X bashcompinit && bashcompinit
{bash(nodes)}"""


def fish(nodes: list[Node]) -> str:
    lines = ["# treadle completion for fish", "complete -c treadle -f"]
    for node in nodes:
        seen = " and ".join(f"__fish_seen_subcommand_from {name}" for name in node.path).replace(" and ", "; and ")
        below = " ".join(node.children)
        condition = "; and ".join(filter(None, (seen, f"not __fish_seen_subcommand_from {below}" if below else "")))
        start = f"complete -c treadle -n {_quoted(condition)}" if condition else "complete -c treadle"
        lines += [f"{start} -a {_quoted(name)} -d {_quoted(line)}" for name, line in node.children.items()]
        lines += [f"{start} -a {_quoted(value)}" for value in node.values]
        if node.wants_run:
            lines.append(f"{start} -a {_quoted(f'last ({_RUN_IDS})')}")
        lines += [_fish_option(start, option) for option in node.options]
    return "\n".join(lines)


def _fish_option(start: str, option: Option) -> str:
    names = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
    value = ""
    if option.takes_value:
        value = f" -x -a {_quoted(' '.join(option.values))}" if option.values else " -r -F" if option.is_file else " -x"
    return f"{start} {names}{value} -d {_quoted(option.help)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
