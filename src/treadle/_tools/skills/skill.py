"""A skill: a folder that is read once and pinned by its hash. What changes afterwards is not used."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from msgspec import Struct

from treadle._safety.hidden import hidden_text
from treadle._tools.builtin.workfolder import WorkFolder, split_path
from treadle._tools.skills.front_matter import FrontMatter, parse
from treadle._types.errors import ConfigError, ToolError

FILE = "SKILL.md"
LANGUAGES = {".py": "python", ".js": "javascript", ".mjs": "javascript", ".sh": "shell", ".bash": "shell"}
MAX_FILES, MAX_BYTES, MAX_FILE_BYTES, MAX_TEXT_BYTES = 1_000, 20_000_000, 5_000_000, 256_000
_SKIPPED = frozenset({".git", "__pycache__", "node_modules", ".venv"})


class Skill(Struct, frozen=True):
    """A folder in the public format of Agent Skills, as it was when it was read."""

    name: str
    description: str
    path: str
    """The folder, absolute, without links."""
    body: str
    """What SKILL.md says below its front matter."""
    files: Mapping[str, str]
    """Every file in the folder, SKILL.md too, with the SHA-256 of its content. Links are none of them."""
    body_line: int
    """The line of SKILL.md in which the body begins."""
    front: FrontMatter

    @property
    def digest(self) -> str:
        """One hash of all names and contents: what a person has accepted."""
        listed = "\n".join(f"{digest} {name}" for name, digest in sorted(self.files.items()))
        return hashlib.sha256(listed.encode()).hexdigest()

    @property
    def scripts(self) -> tuple[str, ...]:
        """The programs in `scripts/` that can be run."""
        return tuple(sorted(name for name in self.files if name.startswith("scripts/") and language_of(name)))

    @property
    def resources(self) -> tuple[str, ...]:
        """The other files, to be read."""
        return tuple(sorted(self.files.keys() - {FILE, *self.scripts}))

    def text(self) -> str:
        """All of SKILL.md."""
        return self.read(FILE).decode("utf-8", "replace")

    def read(self, name: str) -> bytes:
        """A file; `ToolError` for one that is not of the skill or has changed since."""
        name = "/".join(split_path(name))
        if name not in self.files:
            names = ", ".join((FILE, *self.resources, *self.scripts)[:20])
            raise ToolError(f"the skill {self.name} has no file {name!r}; its files are: {names}")
        if not os.path.isdir(self.path):  # a work folder would be made where it is missing
            raise ToolError(f"the folder of the skill {self.name} is gone")
        data = WorkFolder(self.path).read(split_path(name), MAX_FILE_BYTES)
        if hashlib.sha256(data).hexdigest() != self.files[name]:
            raise ToolError(f"refused: {name} of the skill {self.name} was changed after the skill was accepted")
        return data


def language_of(name: str) -> str:
    """Return a script's language, by the suffix of its name; empty for a file that cannot be run."""
    return LANGUAGES.get(PurePosixPath(name).suffix.lower(), "")


def load_skill(folder: str | os.PathLike[str]) -> Skill:
    """Read a skill's folder; `ConfigError` says what is wrong with it."""
    path = Path(folder).expanduser()
    if path.name == FILE and path.is_file():
        path = path.parent
    if not (path / FILE).is_file():
        raise ConfigError(f"{path} is no skill: there is no {FILE} in it")
    try:
        return _load(path)
    except ConfigError as error:
        raise ConfigError(f"{path / FILE}: {error}") from None
    except ToolError as error:
        raise ConfigError(f"the skill {path} cannot be read: {error}") from None


def _load(path: Path) -> Skill:
    folder = WorkFolder(path)
    files: dict[str, str] = {}
    total = 0
    for parts, entry in folder.walk((), _SKIPPED.__contains__):
        total += entry.size
        if len(files) >= MAX_FILES or total > MAX_BYTES:
            raise ConfigError(f"the folder has more than {MAX_FILES} files or {MAX_BYTES // 10**6} MB")
        split_path("/".join(parts))  # a name that could not be read later is refused now
        data = folder.read(parts, MAX_FILE_BYTES)
        files["/".join(parts)] = hashlib.sha256(data).hexdigest()
    data = folder.read((FILE,), MAX_TEXT_BYTES)
    if hashlib.sha256(data).hexdigest() != files.get(FILE):
        raise ConfigError("it changed while it was read: try again")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"it is not UTF-8: {error.reason} at byte {error.start}") from None
    if hidden := hidden_text(text):
        raise ConfigError(hidden)
    front, body, line = parse(text)
    return Skill(front.name, front.description, folder.root, body, files, line, front)


def load_skills(given: Iterable[str | os.PathLike[str] | Skill]) -> tuple[Skill, ...]:
    """Skills, folders of one skill each, and folders that hold such folders."""
    skills: dict[str, Skill] = {}
    for item in given:
        for skill in _skills_of(item):
            if (other := skills.get(skill.name)) is not None and other.path != skill.path:
                raise ConfigError(f"two skills have the name {skill.name!r}: {other.path} and {skill.path}")
            skills[skill.name] = skill
    return tuple(skills.values())


def _skills_of(item: str | os.PathLike[str] | Skill) -> list[Skill]:
    if isinstance(item, Skill):
        return [item]
    path = Path(item).expanduser()
    if path.name == FILE or (path / FILE).is_file() or not path.is_dir():
        return [load_skill(path)]
    folders = skill_folders(path)
    if not folders:
        raise ConfigError(f"{path} is no skill and holds none: there is no {FILE} in it or in a folder of it")
    return [load_skill(folder) for folder in folders]


def skill_folders(parent: Path) -> list[Path]:
    """The folders of skills directly below a folder; links to folders are not followed."""
    try:
        return sorted(p for p in parent.iterdir() if not p.is_symlink() and (p / FILE).is_file())
    except OSError:
        return []
