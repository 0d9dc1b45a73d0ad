"""The floor of each package's coverage."""

from __future__ import annotations

from coverage_floors import Package, packages_of, verdict


def entry(statements: int, covered: int, branches: int = 0, covered_branches: int = 0) -> dict:
    return {
        "summary": {
            "covered_lines": covered,
            "missing_lines": statements - covered,
            "covered_branches": covered_branches,
            "missing_branches": branches - covered_branches,
        }
    }


REPORT = {
    "files": {
        "src/treadle/__init__.py": entry(10, 10),
        "src/treadle/_engine/run.py": entry(60, 60, 20, 10),
        "src/treadle/_engine/loop/turn.py": entry(20, 19),
        "src/treadle/_types/ids.py": entry(4, 4),
        "src/treadle/_types/__init__.py": entry(0, 0),
    }
}


def test_statements_and_branches_are_summed_per_package():
    packages = packages_of(REPORT)
    assert {name: round(package.percent, 1) for name, package in packages.items()} == {
        "_engine": 89.0,
        "_types": 100.0,
    }


def test_a_package_below_its_floor_is_named_with_the_files_that_lack_most():
    table, failures = verdict(packages_of(REPORT), {"_engine": 90, "_types": 100})
    assert any("_engine" in line and "89.0 %" in line and "floor 90 %" in line for line in table)
    (failure,) = failures
    assert failure.startswith("coverage: _engine is at 89.0 %, its floor is 90 %")
    assert failure.endswith("_engine/run.py (10), _engine/loop/turn.py (1)")


def test_a_figure_is_never_rounded_up_to_its_floor():
    _, (failure,) = verdict({"_engine": Package(8_999, 10_000)}, {"_engine": 90})
    assert "is at 89.9 %" in failure


def test_a_package_that_was_not_measured_fails():
    assert verdict({}, {"_flows": 90})[1] == ["coverage: nothing was measured in _flows"]


def test_a_package_without_a_floor_fails():
    assert "its floor is 100 %" in verdict({"_new": Package(9, 10)}, {})[1][0]
