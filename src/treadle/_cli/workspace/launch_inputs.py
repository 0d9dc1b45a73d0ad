"""Selects the skills and instructions of a launch: those the options name, else those of the folder and the user."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treadle._cli.display.notice import notice
from treadle._cli.display.text import clean, say
from treadle._cli.workspace.instructions import instruction_files, own_file, read_instructions
from treadle._cli.workspace.skill_lookup import find_skills, named_skills, usable_skills
from treadle._safety.trust import TrustStore
from treadle._types.errors import ConfigError


def skills_from(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the folders of the named skills, which must be accepted; else of all accepted ones."""
    named: list[str] = args.skills or []
    if "none" in named:
        return ()
    if not named:
        return tuple(skill.path for skill in usable_skills(find_skills()))
    entries = named_skills(named)
    for entry in entries:
        if entry.skill is None:
            raise ConfigError(entry.problem)
        if entry.standing != "accepted":
            state = "has changed since you accepted it" if entry.standing == "changed" else "is not accepted yet"
            raise ConfigError(f"the skill {entry.path} {state}: look at it, then: treadle skills add {entry.path}")
    return tuple(entry.path for entry in entries)


def skill_plugins(folders: Sequence[str]) -> list[Any]:
    """Load skills as they were accepted: a run that is resumed must not use what has changed meanwhile."""
    if not folders:
        return []
    from treadle._plugins.skills import Skills

    entries = named_skills(folders)
    for entry in entries:
        if entry.standing != "accepted":
            _warn(f"not used, because it is not as you accepted it: {entry.path}")
    skills = usable_skills(entries)
    return [Skills(skills)] if skills else []


def instructions_from(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the named files, else those of the user and of trusted folders that can be read."""
    named: list[str] = args.instructions or []
    if "none" in named:
        return ()
    if named:
        paths = tuple(os.path.abspath(os.path.expanduser(path)) for path in named)
        for path in paths:
            read_instructions(path)
        return paths
    usable: list[str] = []
    for file in instruction_files():
        if not file.trusted:
            continue
        try:
            read_instructions(file.path)
        except ConfigError as error:
            _warn(str(error))
        else:
            usable.append(file.path)
    return tuple(usable)


def still_trusted(paths: Sequence[str], named: bool) -> tuple[str, ...]:
    """Select the files that may be read now: trust may have been withdrawn since the launch was recorded."""
    existing = tuple(path for path in paths if os.path.exists(path))
    if named:
        return existing
    trust, own = TrustStore(), own_file()
    return tuple(path for path in existing if path == own or trust.trusts_folder(Path(path).parent))


def inputs_line(instructions: Sequence[str], skills: Sequence[str]) -> str:
    """Name the instructions and skills of an agent in one line; empty when it has none."""
    parts: list[str] = []
    if instructions:
        parts.append(f"instructions: {', '.join(shown_path(path) for path in instructions)}")
    if skills:
        parts.append(f"skills: {', '.join(Path(path).name for path in skills)}")
    return clean("; ".join(parts))


def shown_path(path: str) -> str:
    """Write a path as a person would: from this folder, or from home."""
    file = Path(path)
    for start, prefix in ((Path.cwd(), ""), (Path.home(), "~/")):
        if file.is_relative_to(start):
            return prefix + file.relative_to(start).as_posix()
    return path


def _warn(text: str) -> None:
    notice.clear()
    say(f"treadle: {text}")
