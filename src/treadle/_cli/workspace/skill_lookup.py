"""Finds the skills of the working folder and of its user, and which of them the user has accepted."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from treadle._cli.setup.user_config import user_config_path
from treadle._safety.trust import Standing, TrustStore
from treadle._tools.skills.skill import Skill, load_skill, skill_folders
from treadle._types.errors import ConfigError

PROJECT_FOLDERS = (".treadle/skills", ".agents/skills", ".claude/skills")


class SkillEntry(Struct, frozen=True):
    path: str
    place: str
    """project | user | named"""
    skill: Skill | None = None
    standing: Standing = "new"
    problem: str = ""
    """Why it cannot be used; then there is no skill."""


def user_skills() -> Path:
    """Return the folder to which `treadle skills add` copies skills."""
    return user_config_path().parent / "skills"


def project_folders(start: Path) -> list[Path]:
    """List the folders from `start` up to the root of its repository; without a repository, only itself."""
    above = [start, *start.parents]
    root = next((index for index, folder in enumerate(above) if (folder / ".git").exists()), 0)
    return above[: root + 1]


def find_skills() -> list[SkillEntry]:
    """List every skill, the nearest first: of two with one name, the first is the one that counts."""
    places = [(folder / name, "project") for folder in project_folders(Path.cwd()) for name in PROJECT_FOLDERS]
    places += [(user_skills(), "user"), (Path.home() / ".agents" / "skills", "user")]
    trust = TrustStore()
    entries: dict[str, SkillEntry] = {}
    for parent, place in places:
        for folder in skill_folders(parent):
            path = os.path.realpath(folder)
            if path not in entries:
                entries[path] = _read_entry(path, place, trust)
    return list(entries.values())


def _read_entry(path: str, place: str, trust: TrustStore) -> SkillEntry:
    try:
        skill = load_skill(path)
    except ConfigError as error:
        return SkillEntry(path, place, problem=str(error))
    return SkillEntry(path, place, skill, trust.skill(skill.path, skill.digest))


def usable_skills(entries: Iterable[SkillEntry]) -> list[Skill]:
    """Select the accepted ones; of several with one name, the nearest."""
    by_name: dict[str, Skill] = {}
    for entry in entries:
        if entry.skill is not None and entry.standing == "accepted":
            by_name.setdefault(entry.skill.name, entry.skill)
    return list(by_name.values())


def named_skills(folders: Iterable[str]) -> list[SkillEntry]:
    """Read the skills in these folders: each is one, or holds some."""
    trust = TrustStore()
    entries: list[SkillEntry] = []
    for folder in folders:
        path = Path(folder).expanduser()
        inside = [] if (path / "SKILL.md").exists() else skill_folders(path)
        entries += [_read_entry(os.path.realpath(each), "named", trust) for each in inside or [path]]
    return entries
