"""Asks, before an agent starts, about instructions and skills that the user has not accepted; `treadle trust`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treadle._cli.display.notice import notice
from treadle._cli.display.text import clean, few_lines, one_line, plural, say, wrapped
from treadle._cli.setup.options import flag
from treadle._cli.workspace.instructions import instruction_files, read_instructions
from treadle._cli.workspace.skill_lookup import find_skills
from treadle._safety.trust import TrustStore
from treadle._tools.skills.skill import Skill
from treadle._types.errors import ConfigError

_SHOWN_LINES = 60


def can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def settle(args: argparse.Namespace) -> None:
    """Ask about what the options leave to the folder."""
    if not args.instructions:
        _settle_folders(quiet=args.quiet)
    if not args.skills:
        _settle_skills(quiet=args.quiet)


def _settle_folders(*, quiet: bool) -> None:
    """Ask whether a folder with an AGENTS.md is trusted; where nobody can be asked, say that it is not read."""
    trust = TrustStore()
    undecided = [Path(file.path) for file in instruction_files() if not file.trusted]
    undecided = [path for path in undecided if not trust.declined(str(path.parent))]
    if not undecided:
        return
    notice.clear()
    if not can_ask():
        for path in () if quiet else undecided:
            say(f"not read, because you have not trusted its folder: {path}; treadle trust {path.parent} does")
        return
    for path in undecided:
        say(f"The folder {path.parent} has instructions for agents in {path.name}, and you have not trusted it.")
        if confirm("trust this folder?", lambda path=path: _text_or_problem(str(path))):
            trust.trust_folder(path.parent)
        else:
            trust.decline(str(path.parent))


def _text_or_problem(path: str) -> str:
    try:
        return read_instructions(path)
    except ConfigError as error:
        return str(error)


def _settle_skills(*, quiet: bool) -> None:
    """Ask about each skill that is new or has changed; where nobody can be asked, say that it is not used."""
    trust = TrustStore()
    undecided = [
        (entry.skill, entry.standing)
        for entry in find_skills()
        if entry.skill is not None and entry.standing != "accepted" and not trust.declined(entry.skill.digest)
    ]
    if not undecided:
        return
    notice.clear()
    if not can_ask():
        if not quiet:
            names = one_line(", ".join(skill.name for skill, _ in undecided), 100)
            pronoun = "it" if len(undecided) == 1 else "them"
            listed = f"{plural(len(undecided), 'skill')} ({names}); treadle skills list shows more"
            say(f"not used, because you have not accepted {pronoun}: {listed}")
        return
    for skill, standing in undecided:
        describe(skill, standing)
        if confirm("use this skill from now on?", skill.text):
            trust.accept_skill(skill.path, skill.digest)
        else:
            trust.decline(skill.digest)


def describe(skill: Skill, standing: str) -> None:
    """Print to stderr what somebody must know before they accept a skill."""
    state = " has changed since you accepted it" if standing == "changed" else " is new here"
    say(f"The skill {skill.name}{state}: {skill.path}")
    say(f"  {skill.description}")
    say(f"  {plural(len(skill.files), 'file')}" + (f", programs: {', '.join(skill.scripts)}" if skill.scripts else ""))


def confirm(question: str, show: Callable[[], str]) -> bool:
    """Ask until the answer is not `show`; only a whole yes is one."""
    while True:
        print(wrapped(f"{question} [yes, no, show] ", to=sys.stderr), end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline().strip().lower()
        if answer not in ("s", "show"):
            return answer in ("y", "yes")
        say("\n".join(few_lines(show(), _SHOWN_LINES)))


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "trust",
        description="Trust a folder, not those inside it: agents at the terminal read its AGENTS.md from then on.",
    )
    parser.add_argument("folder", nargs="?", metavar="FOLDER", help="the folder to trust")
    flag(parser, "--list", help="list the trusted folders")
    parser.add_argument("--forget", metavar="PATH", help="forget a trusted folder, or an accepted skill")


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    trust = TrustStore()
    if args.forget:
        if not trust.forget(Path(args.forget).expanduser()):
            raise ConfigError(f"{args.forget} was not trusted: treadle trust --list shows what is")
        print(clean(f"{args.forget} is no longer trusted"))
    elif args.folder:
        folder = Path(args.folder).expanduser()
        if not folder.is_dir():
            raise ConfigError(f"there is no folder {folder}")
        print(clean(f"trusted: {trust.trust_folder(folder)}"))
    elif args.list:
        for folder in trust.folders():
            print(clean(folder))
    else:
        raise ConfigError("which folder? treadle trust . trusts this one; treadle trust --list lists those you trust")
    return 0
