"""Which files of an interpreter are shown."""

from __future__ import annotations

import json
from pathlib import Path

from treadle._tools.sandbox.interpreters import python_interpreter


def python_that_says(folder: Path, prefix: Path) -> str:
    """A program in the place of a Python whose files are below `prefix`."""
    library = prefix / "lib" / "python3"
    facts = [
        str(prefix / "bin" / "python"),
        str(prefix),
        str(prefix),
        *[str(library)] * 2,
        *[str(library / "site")] * 2,
    ]
    program = folder / "python"
    program.write_text(f"#!/bin/sh\necho '{json.dumps(facts)}'\n")
    program.chmod(0o755)
    return str(program)


def fake_installation(prefix: Path) -> None:
    for folder in ("bin", "lib/python3/site", "share"):
        (prefix / folder).mkdir(parents=True)
    (prefix / "bin" / "python").write_text("")
    (prefix / "share" / "key").write_text("secret")


def test_only_the_program_and_its_modules(tmp_path: Path):
    fake_installation(tmp_path / "home")
    found = python_interpreter(python_that_says(tmp_path, tmp_path / "home"))
    assert found.program == str(tmp_path / "home/bin/python")
    assert found.files == (str(tmp_path / "home/bin/python"), str(tmp_path / "home/lib/python3"))


def test_the_libraries_of_a_conda_environment(tmp_path: Path):
    fake_installation(tmp_path / "conda")
    (tmp_path / "conda" / "conda-meta").mkdir()
    found = python_interpreter(python_that_says(tmp_path, tmp_path / "conda"))
    assert found.files == (str(tmp_path / "conda/bin/python"), str(tmp_path / "conda/lib"))


def test_a_link_in_the_system_that_leads_out_of_it(tmp_path: Path):
    fake_installation(tmp_path / "opt")
    linked = tmp_path / "linked"
    linked.symlink_to(tmp_path / "opt")
    found = python_interpreter(python_that_says(tmp_path, linked))
    assert str(tmp_path / "opt/bin/python") in found.files
    assert str(linked / "bin/python") in found.files
