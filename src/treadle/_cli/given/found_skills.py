"""The skills of the folder the program was started in and of its user, and which of them the user has accepted."""

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


class Found(Struct, frozen=True):
    path: str
    place: str
    """project | user"""
    skill: Skill | None = None
    standing: Standing = "new"
    problem: str = ""
    """Why it cannot be used; then there is no skill."""


def user_skills() -> Path:
    """Where `treadle skills add` puts skills."""
    return user_config_path().parent / "skills"


def project_folders(start: Path) -> list[Path]:
    """From the folder up to the root of its repository, the nearest first; without a repository, only itself."""
    above = [start, *start.parents]
    root = next((index for index, folder in enumerate(above) if (folder / ".git").exists()), 0)
    return above[: root + 1]


def found_skills(start: Path | None = None, trust: TrustStore | None = None) -> list[Found]:
    """Every skill that can be found, the nearest first: of two with one name, the first is the one that counts."""
    trust = trust or TrustStore()
    start = (start or Path.cwd()).resolve()
    places = [(folder / name, "project") for folder in project_folders(start) for name in PROJECT_FOLDERS]
    places += [(user_skills(), "user"), (Path.home() / ".agents" / "skills", "user")]
    seen: set[str] = set()
    found: list[Found] = []
    for parent, place in places:
        for folder in skill_folders(parent):
            path = os.path.realpath(folder)
            if path not in seen:
                seen.add(path)
                found.append(found_skill(path, place, trust))
    return found


def found_skill(path: str, place: str, trust: TrustStore) -> Found:
    try:
        skill = load_skill(path)
    except ConfigError as error:
        return Found(path, place, problem=str(error))
    return Found(path, place, skill, trust.skill(skill.path, skill.digest))


def usable_skills(found: Iterable[Found]) -> list[Skill]:
    """The accepted ones; of several with one name, the nearest."""
    by_name: dict[str, Skill] = {}
    for item in found:
        if item.skill is not None and item.standing == "accepted":
            by_name.setdefault(item.skill.name, item.skill)
    return list(by_name.values())


def named_skills(folders: Iterable[str]) -> list[Found]:
    """The skills in these folders: each is one, or holds some."""
    trust = TrustStore()
    found: list[Found] = []
    for folder in folders:
        path = Path(folder).expanduser()
        inside = [] if (path / "SKILL.md").exists() else skill_folders(path)
        found += [found_skill(os.path.realpath(item), "named", trust) for item in inside or [path]]
    return found
