"""Asks, before an agent starts, about what its folder would give it and the user has not accepted yet."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from treadle._cli.display.notice import notice
from treadle._cli.display.text import clean, few_lines, one_line, plural, wrapped
from treadle._cli.given.found_skills import Found, found_skills
from treadle._cli.given.instructions import found_instructions, read_instructions
from treadle._safety.trust import TrustStore
from treadle._types.errors import ConfigError

_SHOWN_LINES = 60


def can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def settle(args: argparse.Namespace) -> None:
    """Ask about what the options leave to the folder."""
    if not args.instructions:
        settle_folders(quiet=args.quiet)
    if not args.skills:
        settle_skills(quiet=args.quiet)


def settle_folders(*, quiet: bool = False) -> None:
    """Ask whether a folder with an AGENTS.md is trusted; where nobody can be asked, say that it is not read."""
    trust = TrustStore()
    open_ones = [Path(item.path) for item in found_instructions(trust=trust) if not item.trusted]
    open_ones = [path for path in open_ones if not trust.declined(str(path.parent))]
    if not open_ones:
        return
    notice.clear()
    if not can_ask():
        for path in () if quiet else open_ones:
            say(f"not read, because you have not trusted its folder: {path}; treadle trust {path.parent} does")
        return
    for path in open_ones:
        say(f"The folder {path.parent} has instructions for agents in {path.name}, and you have not trusted it.")
        if confirm("trust this folder?", lambda path=path: _shown(str(path))):
            trust.trust_folder(path.parent)
        else:
            trust.decline(str(path.parent))


def _shown(path: str) -> str:
    try:
        return read_instructions(path)
    except ConfigError as error:
        return str(error)


def settle_skills(*, quiet: bool = False) -> None:
    """Ask about each skill that is new or has changed; where nobody can be asked, say that it is not used."""
    trust = TrustStore()
    open_ones = [item for item in found_skills(trust=trust) if item.skill is not None and item.standing != "accepted"]
    open_ones = [item for item in open_ones if item.skill is not None and not trust.declined(item.skill.digest)]
    if not open_ones:
        return
    notice.clear()
    if not can_ask():
        if not quiet:
            names = ", ".join(item.skill.name for item in open_ones if item.skill is not None)
            few = "it" if len(open_ones) == 1 else "them"
            count = plural(len(open_ones), "skill")
            listed = f"{count} ({one_line(names, 100)}); treadle skills list shows more"
            say(f"not used, because you have not accepted {few}: {listed}")
        return
    for item in open_ones:
        assert item.skill is not None
        describe(item)
        if confirm("use this skill from now on?", item.skill.text):
            trust.accept_skill(item.skill.path, item.skill.digest)
        else:
            trust.decline(item.skill.digest)


def describe(item: Found) -> None:
    """What somebody must know before they accept a skill; on stderr."""
    skill = item.skill
    assert skill is not None
    state = " has changed since you accepted it" if item.standing == "changed" else " is new here"
    say(f"The skill {skill.name}{state}: {skill.path}")
    say(f"  {skill.description}")
    say(f"  {plural(len(skill.files), 'file')}" + (f", programs: {', '.join(skill.scripts)}" if skill.scripts else ""))


def confirm(question: str, show: Callable[[], str]) -> bool:
    """Only a whole yes is one."""
    while True:
        answer = ask_line(f"{question} [yes, no, show] ")
        if answer in ("s", "show"):
            say("\n".join(few_lines(show(), _SHOWN_LINES)))
        else:
            return answer in ("y", "yes")


def ask_line(question: str) -> str:
    """What is typed after the question, in small letters; empty at the end of the input."""
    print(wrapped(question, to=sys.stderr), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower()


def say(text: str) -> None:
    print(wrapped(clean(text), rest="  ", to=sys.stderr), file=sys.stderr, flush=True)
