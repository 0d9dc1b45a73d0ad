"""Shared by all tests: a state folder of their own, and no unnoticed skips on a build machine."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import sys
from collections.abc import Generator, Iterator
from datetime import date, timedelta
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

if folder := os.environ.get("TREADLE_COVERAGE"):  # before the package is imported, which is instrumented then
    from coverage_floors import measure

    write_coverage = measure(Path(folder))
else:
    write_coverage = None

from programs import start_server
from treadle._safety.secrets import environment_secrets, known_secrets
from workers import run_in_workers

for name in environment_secrets(os.environ).values():  # of whoever runs the tests
    del os.environ[name]

ALLOWED_SKIPS = {
    "test_a_folder_that_cannot_be_written_says_what_to_do": "file modes do not bind root, whom build machines run as",
    "test_the_other_engine_where_it_is_installed": "four other engines; python3 tasks.py peers installs and runs them",
    "test_tools_of_another_engine_where_it_is_installed": "four other engines; tasks.py peers installs them",
    "test_what_their_tools_ask_for_where_it_is_installed": "three other engines; tasks.py peers installs them",
    "test_a_program_of_another_engine_where_it_is_installed": "four other engines; tasks.py peers installs them",
    "test_an_agent_in_another_engine_where_it_is_installed": "three other engines; tasks.py peers installs them",
    "test_what_their_sdks_write_where_they_are_installed": "langsmith and langfuse; tasks.py peers installs them",
    "test_an_agent_in_inspect_where_it_is_installed": "inspect-ai; tasks.py peers installs it",
    "test_a_task_of_harbor_where_it_is_installed": "harbor, for Python 3.12; tasks.py peers installs it",
    "test_a_terminal_of_terminal_bench_where_it_is_installed": "terminal-bench; tasks.py peers installs it",
    "test_their_own_reader_where_it_is_installed": "harbor, for Python 3.12; tasks.py peers installs it",
    "test_an_unreadable_script": "file modes do not bind root, whom build machines run as",
}
"""The tests that may be skipped where skips are errors, and why; tests/test_skips.py checks that each exists."""

QUARANTINED: dict[str, date] = {}
"""Tests that fail sometimes, by name, and since when: their failures do not count for a week, while the defect is
looked for. After that the whole suite refuses to run until the entry is gone."""

# Whether a property holds does not depend on how busy the machine is.
settings.register_profile("treadle", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("treadle")


def skips_are_errors() -> bool:
    """On a build machine everything can be installed, so a skip means that the set-up is broken."""
    return os.environ.get("CI") == "true" or os.environ.get("TREADLE_NO_SKIPS") == "1"


_REMEMBERING = ("treadle._models.catalog.probed_profiles", "treadle._models.contact.recognize")


@pytest.fixture(scope="session")
def states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A new folder each time. `mktemp` would look through all that it has made before, for each of the tests."""
    base = tmp_path_factory.mktemp("states")
    return (base / str(number) for number in count())


@pytest.fixture(autouse=True)
def own_state(states: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keeps the tests away from the journal and the stored profiles of whoever runs them."""
    folder = next(states)
    folder.mkdir()
    monkeypatch.setenv("TREADLE_STATE", str(folder))
    monkeypatch.setenv("TREADLE_WARM_MINUTES", "0")
    for name in _REMEMBERING:  # what a process knows of servers at addresses that another test may be given
        if (module := sys.modules.get(name)) is not None:
            module.forget()
    return folder


@pytest.fixture(autouse=True)
def own_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests keep secret is none: a piece that begins like a secret is held back."""
    monkeypatch.setattr(known_secrets, "_users", {})
    known_secrets.version += 1


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=0, help="run the tests in so many forked processes")


def pytest_collection(session: pytest.Session) -> None:
    gc.set_threshold(500_000)  # collections take an eighth of the time of importing and instrumenting
    if session.config.option.workers:
        start_server()  # it imports while this process collects


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is an async function runs in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in given}))
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    gc.set_threshold(20_000)
    if (
        not session.config.option.workers
        or not hasattr(os, "fork")
        or session.config.option.collectonly
        or session.testsfailed
    ):
        return None
    at_end = partial(write_coverage, in_worker=True) if write_coverage else lambda: None
    run_in_workers(session, session.config.option.workers, at_end)
    return True


LONGEST = (
    "server/api/test_openapi.py",
    "durable/test_temporal.py",
    "test_house.py",
    "public/test_typed.py",
    "web/",
    "local/",
    "test_release.py",
    "tools/sandbox/test_ordinary_user.py",
)
"""Files that take minutes. They come first, so that they run beside everything else and not alone at the end."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not os.environ.get("TREADLE_LONG_TESTS") and "long" not in config.option.markexpr:
        left_out = [item for item in items if item.get_closest_marker("long")]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if not item.get_closest_marker("long")]

    for name, since in QUARANTINED.items():
        if date.today() > since + timedelta(days=7):
            raise pytest.UsageError(f"{name} is in quarantine since {since}: repair it or delete it")
    for item in items:
        if getattr(item, "originalname", item.name) in QUARANTINED:
            item.add_marker(pytest.mark.xfail(reason="in quarantine", strict=False))

    def rank(item: pytest.Item) -> int:
        path = item.nodeid.partition("::")[0].removeprefix("tests/")
        return next((rank for rank, start in enumerate(LONGEST) if path.startswith(start)), len(LONGEST))

    items.sort(key=rank)


# The reports themselves are changed, in the process that makes them: so it is the same with and without workers.


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and skips_are_errors():
        name = getattr(item, "originalname", item.name)
        if name not in ALLOWED_SKIPS:
            report.outcome = "failed"
            report.longrepr = skip_error(item.nodeid, report.longrepr)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A file that skips itself hides all of its tests: never allowed."""
    report = yield
    if report.skipped and skips_are_errors():
        report.outcome = "failed"
        report.longrepr = skip_error(collector.nodeid, report.longrepr)
    return report


def skip_error(nodeid: str, longrepr: object) -> str:
    reason = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)  # pyright: ignore
    reason = reason.removeprefix("Skipped: ")  # pyright: ignore
    return (
        f"{nodeid} was skipped: {reason}\n"
        "With CI=true or TREADLE_NO_SKIPS=1 a skip is an error: install what is missing (tasks.py: SYSTEM_PROGRAMS, "
        "pyproject.toml: test), or list the test with a reason in tests/conftest.py."
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    if write_coverage is not None:
        write_coverage()
