"""`treadle skills`: lists, checks and accepts Agent Skills."""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path
from typing import Any

from treadle._cli.display.table import table
from treadle._cli.display.text import clean, wrapped
from treadle._cli.setup.options import flag
from treadle._cli.workspace.consent import can_ask, confirm, describe
from treadle._cli.workspace.skill_lookup import SkillEntry, find_skills, named_skills, usable_skills, user_skills
from treadle._safety.trust import TrustStore
from treadle._tools.skills.skill import Skill, language_of, load_skill
from treadle._types.errors import ConfigError

_LONG_BODY = 500


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "skills",
        description="Agent Skills of this folder (.treadle/skills, .agents/skills, .claude/skills) and your own, which "
        "agents get once you have accepted them.",
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="list the skills found here, and whether you have accepted them")
    check = actions.add_parser("check", help="check skills against the format")
    check.add_argument("paths", nargs="*", metavar="PATH", help="folders of skills (default: those found here)")
    add = actions.add_parser("add", help="accept skills; those from elsewhere are copied to your own")
    add.add_argument("paths", nargs="+", metavar="PATH", help="the folder of a skill, or one that holds several")
    flag(add, "-y", "--yes", help="accept them without being asked")


def run(args: argparse.Namespace) -> int:
    return {"list": _list, "check": _check, "add": _add}[args.action](args)


def _list(args: argparse.Namespace) -> int:
    entries = find_skills()
    usable = [skill.path for skill in usable_skills(entries)]
    rows: list[list[str]] = []
    for entry in entries:
        name = entry.skill.name if entry.skill else Path(entry.path).name
        purpose = entry.skill.description if entry.skill else entry.problem
        rows.append([name, _state(entry, usable), entry.place, purpose])
    if rows:
        print(table(("SKILL", "STATE", "FROM", "WHAT IT IS FOR"), rows))
    else:
        print(wrapped(f"there are no skills here and none in {user_skills()}; treadle skills add PATH adds one"))
    if any(entry.skill and entry.standing != "accepted" for entry in entries):
        print(wrapped("\nonly accepted skills are used: treadle skills add PATH accepts one"))
    return 0


def _state(entry: SkillEntry, usable: list[str]) -> str:
    if entry.skill is None:
        return "unreadable"
    if entry.standing == "accepted" and entry.skill.path not in usable:
        return "hidden by another of this name"
    return entry.standing


def _check(args: argparse.Namespace) -> int:
    entries = named_skills(args.paths) if args.paths else find_skills()
    for entry in entries:
        if entry.skill is None:
            print(clean(f"wrong   {entry.problem}"))
            continue
        print(clean(f"good    {entry.skill.name}: {entry.skill.path} ({entry.standing})"))
        for note in _notes(entry.skill):
            print(clean(f"        note: {note}"))
    if not entries:
        print("there are no skills here: treadle skills check PATH")
    return 1 if any(entry.skill is None for entry in entries) else 0


def _notes(skill: Skill) -> list[str]:
    """List what is allowed and perhaps not meant."""
    notes: list[str] = []
    if Path(skill.path).name != skill.name:
        notes.append(f"the folder is named {Path(skill.path).name}: the format wants the name of the skill")
    if skill.front.unknown:
        notes.append(f"fields that are not of the format are ignored: {', '.join(skill.front.unknown)}")
    if skill.front.allowed_tools:
        notes.append(f"allowed-tools grants nothing here: {', '.join(skill.front.allowed_tools)}")
    if (lines := skill.body.count("\n") + 1) > _LONG_BODY:
        notes.append(f"the body has {lines} lines: what is not always needed belongs in files of its own")
    unknown = [name for name in skill.files if name.startswith("scripts/") and not language_of(name)]
    if unknown:
        notes.append(f"can be read and not run (only .py, .js, .mjs, .sh and .bash can): {', '.join(unknown)}")
    links = [entry.name for entry in os.scandir(skill.path) if entry.is_symlink()]
    if links:
        notes.append(f"links are not followed: {', '.join(links)}")
    return notes


def _add(args: argparse.Namespace) -> int:
    entries = named_skills(args.paths)
    for entry in entries:
        if entry.skill is None:
            raise ConfigError(entry.problem)
    if not args.yes and not can_ask():
        raise ConfigError("accepting a skill needs a terminal to ask at, or --yes")
    trust = TrustStore()
    here = {entry.path for entry in find_skills()}
    for entry in entries:
        skill = entry.skill
        assert skill is not None
        describe(skill, entry.standing)
        if not args.yes and not confirm("accept this skill?", skill.text):
            print(clean(f"{skill.name} was not accepted"))
            continue
        accepted = skill if skill.path in here else _copy(skill)
        trust.accept_skill(accepted.path, accepted.digest)
        print(clean(f"accepted {accepted.name}: {accepted.path}"))
    return 0


def _copy(skill: Skill) -> Skill:
    """Copy a skill to the user's own; an earlier one with this name is replaced."""
    target = user_skills() / skill.name
    draft = user_skills() / f".{skill.name}.{os.getpid()}"
    try:
        for name in skill.files:
            (draft / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            (draft / name).write_bytes(skill.read(name))
        if target.is_symlink():
            target.unlink()
        shutil.rmtree(target, ignore_errors=True)
        draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return load_skill(target)
