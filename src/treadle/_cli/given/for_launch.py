"""What a launch is given: by the options, else by the folder and the user; and what a line about it says."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treadle._cli.display.notice import notice
from treadle._cli.display.text import clean
from treadle._cli.given.found_skills import found_skills, named_skills, usable_skills
from treadle._cli.given.instructions import found_instructions, own_file, read_instructions
from treadle._safety.trust import TrustStore
from treadle._types.errors import ConfigError


def skills_from(args: argparse.Namespace) -> tuple[str, ...]:
    """Those that are named, which must be accepted; else all accepted ones that are found."""
    named: list[str] = args.skills or []
    if "none" in named:
        return ()
    if not named:
        return tuple(skill.path for skill in usable_skills(found_skills()))
    found = named_skills(named)
    for item in found:
        if item.skill is None:
            raise ConfigError(item.problem)
        if item.standing != "accepted":
            state = "has changed since you accepted it" if item.standing == "changed" else "is not accepted yet"
            raise ConfigError(f"the skill {item.path} {state}: look at it, then: treadle skills add {item.path}")
    return tuple(item.path for item in found)


def skill_plugins(folders: Sequence[str]) -> list[Any]:
    """As they were accepted: a run that is resumed must not use what has changed meanwhile."""
    if not folders:
        return []
    from treadle._plugins.skills import Skills

    found = named_skills(folders)
    for item in found:
        if item.standing != "accepted":
            _warn(f"not used, because it is not as you accepted it: {item.path}")
    skills = usable_skills(found)
    return [Skills(skills)] if skills else []


def instructions_from(args: argparse.Namespace) -> tuple[str, ...]:
    """The files that are named, else those of the user and of trusted folders; one that cannot be read is left out."""
    named: list[str] = args.instructions or []
    if "none" in named:
        return ()
    if named:
        paths = tuple(os.path.abspath(os.path.expanduser(path)) for path in named)
        for path in paths:
            read_instructions(path)
        return paths
    usable: list[str] = []
    for item in found_instructions():
        if not item.trusted:
            continue
        try:
            read_instructions(item.path)
        except ConfigError as error:
            _warn(str(error))
        else:
            usable.append(item.path)
    return tuple(usable)


def still_trusted(paths: Sequence[str], named: bool) -> tuple[str, ...]:
    """The files that may be read now: trust may have been withdrawn since the launch was recorded."""
    if named:
        return tuple(path for path in paths if os.path.exists(path))
    trust, own = TrustStore(), os.path.abspath(own_file())
    return tuple(p for p in paths if os.path.exists(p) and (p == own or trust.trusts_folder(Path(p).parent)))


def given_line(instructions: Sequence[str], skills: Sequence[str]) -> str:
    """What an agent was given beside its question, in one line; empty when it is nothing."""
    parts: list[str] = []
    if instructions:
        parts.append(f"instructions: {', '.join(shown_path(path) for path in instructions)}")
    if skills:
        parts.append(f"skills: {', '.join(Path(path).name for path in skills)}")
    return clean("; ".join(parts))


def shown_path(path: str) -> str:
    """As a person would write it: from this folder, or from home."""
    file = Path(path)
    for start, prefix in ((Path.cwd(), ""), (Path.home(), "~/")):
        if file.is_relative_to(start):
            return prefix + file.relative_to(start).as_posix()
    return path


def _warn(text: str) -> None:
    notice.clear()
    print(f"treadle: {clean(text)}", file=sys.stderr, flush=True)
