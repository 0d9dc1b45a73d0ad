"""How `scripts/words.py` counts the words that do not come back; tests/test_house.py holds the packages to it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from script_modules import load_script

words = load_script("words")


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("def insists(): ...", "functions"),
        ("async def why_none(): ...", "functions"),
        ("def check(told): ...", "names"),
        ("def batch(*, together=2): ...", "names"),
        ("found = 1", "names"),
        ("for known in (): ...", "names"),
        ("self.kept = 1", "names"),
        ("class Rule:\n    told: str", "names"),
        ('"""What the module holds."""', "docstrings"),
        ('def check():\n    """Whether it fits."""', "docstrings"),
        ("print('known are: a')", "phrases"),
        ("print(f'{1} known are: {2}')", "phrases"),
        ("# Arguments are mended here.", "phrases"),
        ("# What a model wrote is none.", "phrases"),
    ],
)
def test_each_kind_is_counted(source: str, kind: str):
    counts = Counter(place.kind for place in words.words_in(source))
    assert {name: number for name, number in counts.items() if name in words.KINDS} == {kind: 1}


@pytest.mark.parametrize(
    "source",
    [
        "match = find()",
        "print(known)",
        "def check():\n    '''Return whether the value fits.'''",
        "# None if there is none.",
        "amended = 1  # a recommended value",
    ],
)
def test_plain_words_are_not_counted(source: str):
    assert [place for place in words.words_in(source) if place.kind in words.KINDS] == []


def test_module_names_are_counted(tmp_path: Path):
    (tmp_path / "_room" / "given").mkdir(parents=True)
    (tmp_path / "_room" / "given" / "__init__.py").write_text("")
    (tmp_path / "_room" / "kept.py").write_text("")
    (tmp_path / "_room" / "plain.py").write_text("")
    assert words.count_words(tmp_path) == {"_room": Counter(modules=2)}


def test_allowance_is_a_limit_for_each_package():
    counts = {"_old": {"names": 3}, "_new": {"names": 1}}
    assert words.excess(counts, {"_old": {"names": 3}, "_new": {"names": 1}}) == []
    [problem] = words.excess(counts, {"_old": {"names": 3}})
    assert problem.startswith("_new: 1 names, allowed 0")


def test_docstrings_have_a_share():
    assert words.excess({"_room": {"docstrings": 5, words.DOCUMENTED: 100}}, {}) == []
    assert len(words.excess({"_room": {"docstrings": 6, words.DOCUMENTED: 100}}, {})) == 1


def test_saved_totals_never_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(words, "ALLOWED", tmp_path / "allowed.json")
    assert words.save({"_a": Counter(names=2)}) == ""
    assert words.save({"_b": Counter(names=2)}) == ""  # moved to another package
    assert words.load_allowed() == {"_b": {"names": 2}}
    assert "names: 2 -> 3" in words.save({"_b": Counter(names=3)})
    assert words.load_allowed() == {"_b": {"names": 2}}
