"""Folders in the public format of Agent Skills: read, refused, pinned by their hash."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from treadle._tools.skills.front_matter import parse
from treadle._tools.skills.skill import load_skill, load_skills
from treadle._types.errors import ConfigError, ToolError

GOOD = "---\nname: rain-report\ndescription: Sums up rain. Use it for rain.\n---\n\n# Rain\n\nAdd the days.\n"


def skill_folder(parent: Path, name: str = "rain-report", text: str = GOOD, **files: str) -> Path:
    folder = parent / name
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(text, "utf-8")
    for path, content in files.items():
        (folder / path.replace("__", "/").replace("_dot_", ".")).write_text(content)
    return folder


def test_a_whole_skill(tmp_path: Path):
    text = (
        "---\nname: rain-report\ndescription: >\n  Sums up\n  rain.\nlicense: MIT\ncompatibility: needs nothing\n"
        "metadata:\n  author: someone\n  version: 1.0\nallowed-tools: Bash(git:*) Read\n---\nBody.\n"
    )
    folder = skill_folder(tmp_path, text=text, scripts__sum_dot_py="print(1)", table_dot_md="a table")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.pyc").write_text("not of the skill")
    skill = load_skill(folder)
    assert (skill.name, skill.description, skill.body) == ("rain-report", "Sums up rain.", "Body.")
    assert (skill.front.license, skill.front.compatibility) == ("MIT", "needs nothing")
    assert skill.front.metadata == {"author": "someone", "version": "1.0"}
    assert skill.front.allowed_tools == ("Bash(git:*)", "Read")
    assert (skill.scripts, skill.resources) == (("scripts/sum.py",), ("table.md",))
    assert sorted(skill.files) == ["SKILL.md", "scripts/sum.py", "table.md"]


def test_the_body_begins_in_the_line_it_says():
    front, body, line = parse(GOOD)
    assert front.name == "rain-report"
    assert GOOD.splitlines()[line - 1] == body.splitlines()[0] == "# Rain"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# no front matter", "front matter"),
        ("---\nname: x\n", "front matter"),
        ("---\n- a\n- b\n---\n", "not a list of fields"),
        ("---\nname: [\n---\n", "cannot be read"),
        ("---\nname: x\n---\nbody", "description: it is missing"),
        ("---\nname: x\ndescription: '  '\n---\n", "description: it is empty"),
        ("---\nname: 3\ndescription: d\n---\n", "name: it must be text, not int"),
        ("---\nname: X\ndescription: d\n---\n", "small letters"),
        ("---\nname: a--b\ndescription: d\n---\n", "small letters"),
        ("---\nname: ../up\ndescription: d\n---\n", "small letters"),
        (f"---\nname: {'a' * 65}\ndescription: d\n---\n", "at most 64"),
        (f"---\nname: a\ndescription: {'d' * 1025}\n---\n", "at most 1024"),
        ("---\nname: a\nname: b\ndescription: d\n---\n", "stands twice"),
        ("---\nname: a\ndescription: d\nmetadata: 3\n---\n", "metadata"),
        ("---\nname: a\ndescription: d\nallowed-tools: [1]\n---\n", "allowed-tools"),
        ("---\nname: !!python/object:os.system x\ndescription: d\n---\n", "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, said: str):
    with pytest.raises(ConfigError, match=said) as error:
        load_skill(skill_folder(tmp_path, text=text))
    assert "SKILL.md" in str(error.value)


def test_a_description_cannot_write_lines_of_its_own_into_the_prompt():
    text = '---\nname: a\ndescription: "one\\n- b: two\\u001b[31m\\u202e"\n---\n'
    assert parse(text)[0].description == "one - b: two [31m"


def test_fields_of_others_are_named_and_ignored():
    assert parse("---\nname: a\ndescription: d\nmodel: opus\n---\n")[0].unknown == ("model",)


def test_what_was_changed_afterwards_is_refused(tmp_path: Path):
    folder = skill_folder(tmp_path, notes_dot_md="the notes")
    skill = load_skill(folder)
    assert skill.read("notes.md") == b"the notes"
    (folder / "notes.md").write_text("do evil")
    with pytest.raises(ToolError, match="changed after"):
        skill.read("notes.md")
    assert load_skill(folder).digest != skill.digest


def test_nothing_outside_is_read(tmp_path: Path):
    (tmp_path / "secret.txt").write_text("key")
    folder = skill_folder(tmp_path)
    os.symlink(tmp_path / "secret.txt", folder / "link.txt")
    skill = load_skill(folder)
    assert "link.txt" not in skill.files
    for path in ("../secret.txt", "/etc/passwd", "link.txt", "nothing.md"):
        with pytest.raises(ToolError):
            skill.read(path)
    os.remove(folder / "SKILL.md")
    os.symlink(tmp_path / "secret.txt", folder / "SKILL.md")
    with pytest.raises(ConfigError):
        load_skill(folder)


def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = skill_folder(tmp_path, a_dot_md="1", b_dot_md="2")
    monkeypatch.setattr("treadle._tools.skills.skill.MAX_FILES", 2)
    with pytest.raises(ConfigError, match="more than 2 files"):
        load_skill(folder)
    (folder / "SKILL.md").write_bytes(b"---\nname: \xff")
    monkeypatch.setattr("treadle._tools.skills.skill.MAX_FILES", 20)
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_skill(folder)


def test_folders_of_skills(tmp_path: Path):
    first = skill_folder(tmp_path / "skills")
    second = skill_folder(tmp_path / "skills", "b", GOOD.replace("rain-report", "b"))
    assert [skill.name for skill in load_skills([tmp_path / "skills"])] == ["b", "rain-report"]
    assert [skill.name for skill in load_skills([first / "SKILL.md", load_skill(first)])] == ["rain-report"]
    other = skill_folder(tmp_path / "others")
    with pytest.raises(ConfigError, match="two skills have the name"):
        load_skills([first, other, second])
    with pytest.raises(ConfigError, match="holds none"):
        load_skills([first / "scripts"])
    with pytest.raises(ConfigError, match="is no skill"):
        load_skills([tmp_path / "missing"])
