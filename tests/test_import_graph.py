"""The architecture test sees every kind of import."""

from __future__ import annotations

from pathlib import Path

import pytest

from import_graph import circles, import_graph, shortest_circle


def package(folder: Path, **files: str) -> Path:
    """A package of these modules; `a__b` is the module `a.b`."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "__init__.py").touch()
    return folder


def arrows(folder: Path, **files: str) -> set[tuple[str, str]]:
    return {(arrow.source, arrow.target) for arrow in import_graph(package(folder, **files))}


@pytest.mark.parametrize(
    "text",
    [
        "import treadle.b",
        "from treadle import b",
        "from treadle.b import name",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from treadle.b import name",
        "def late():\n    from treadle import b\n    return b",
        "from importlib import import_module\ndef late():\n    return import_module('treadle.b')",
        "import importlib as i\nLAZY = {'Name': 'b'}\ndef late(x):\n    return i.import_module(f'treadle.{LAZY[x]}')",
    ],
)
def test_each_way_to_import_is_an_arrow(tmp_path: Path, text: str):
    assert arrows(tmp_path, a=text, b="") == {("treadle.a", "treadle.b")}


def test_a_lazy_table_behind_the_own_name(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    face = "from importlib import import_module\nT = ['one']\nimport_module(f'{__name__}.{T[0]}')\n"
    (tmp_path / "sub" / "__init__.py").write_text(face)
    assert arrows(tmp_path, sub__one="") == {("treadle.sub", "treadle.sub.one")}


def test_a_string_in_a_module_that_imports_nothing_by_name_is_no_arrow(tmp_path: Path):
    assert arrows(tmp_path, a="NAME = 'treadle.b'", b="") == set()


def test_a_module_taken_from_its_package_is_an_arrow_to_the_module_only(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "__init__.py").write_text("from treadle.sub.one import x")
    found = arrows(tmp_path, sub__one="x = 1", sub__two="from treadle.sub import one")
    assert found == {("treadle.sub", "treadle.sub.one"), ("treadle.sub.two", "treadle.sub.one")}


def test_a_module_that_imports_its_own_face_closes_a_circle(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "__init__.py").write_text(
        "def __getattr__(name):\n    from treadle.sub import one\n    return one.x"
    )
    graph = import_graph(package(tmp_path, sub__one="from treadle.sub import x"))
    assert circles(graph) == [frozenset({"treadle.sub", "treadle.sub.one"})]


def test_relative_imports_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match=r"a\.py:1: relative import"):
        import_graph(package(tmp_path, a="from .b import x", b=""))


def test_circles_are_found_and_a_shortest_one_is_shown(tmp_path: Path):
    graph = import_graph(
        package(
            tmp_path,
            a="import treadle.b",
            b="import treadle.c\nimport treadle.d",
            c="import treadle.a",
            d="import treadle.b",
            e="import treadle.a",
        )
    )
    (group,) = circles(graph)
    assert group == {"treadle.a", "treadle.b", "treadle.c", "treadle.d"}
    way = [(arrow.source, arrow.target, arrow.line) for arrow in shortest_circle(group, graph)]
    assert way == [("treadle.b", "treadle.d", 2), ("treadle.d", "treadle.b", 1)]


def test_a_tree_has_no_circles(tmp_path: Path):
    assert (
        circles(import_graph(package(tmp_path, a="import treadle.b\nimport treadle.c", b="import treadle.c", c="")))
        == []
    )
