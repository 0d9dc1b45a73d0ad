"""The programs that the README tells people to run exist."""

from __future__ import annotations

import re

import pytest

from lab_kit import LAB

PROGRAMS = sorted(set(re.findall(r"(?:python -m|tasks\.py lab) ([\w.]+)", (LAB / "README.md").read_text("utf-8"))))


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_exists(name: str):
    path = LAB.joinpath(*name.split("."))
    assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()
