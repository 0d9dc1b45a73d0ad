"""`--workers N`: run the tests in N processes that are forked once everything is imported and collected.

pytest-xdist starts interpreters that each import, instrument and collect the whole suite again: 40 s of every worker. A
worker here takes one file after the other; its reports go to the process that it was forked from, which shows them.
"""

from __future__ import annotations

import atexit
import gc
import os
import traceback
from collections.abc import Callable
from itertools import groupby
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import pytest

from programs import python

NO_MORE = -1


class Worker:
    """The end of the connection in the forked process: asks for files, sends reports."""

    def __init__(self, session: pytest.Session, connection: Connection) -> None:
        self.session, self.connection = session, connection

    def next_file(self) -> int:
        self.connection.send(("file", None))
        return self.connection.recv()

    def run(self, files: list[list[pytest.Item]]) -> None:
        number = self.next_file()
        while number != NO_MORE:
            *others, last = files[number]
            for item, nextitem in zip(others, files[number][1:], strict=True):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
            # Known before the last test of a file, whose end tears down what the next file does not need.
            number = self.next_file()
            nextitem = None if number == NO_MORE else files[number][0]
            last.config.hook.pytest_runtest_protocol(item=last, nextitem=nextitem)

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self.connection.send(("start", (nodeid, location)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        config = self.session.config
        self.connection.send(("report", config.hook.pytest_report_to_serializable(config=config, report=report)))

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self.connection.send(("finish", (nodeid, location)))


def run_in_workers(session: pytest.Session, count: int, at_end: Callable[[], None]) -> None:
    """Run the collected tests; `at_end` is called in each worker when it has run its last."""
    files = [list(items) for _, items in groupby(session.items, key=lambda item: item.path)]
    numbers = iter(range(len(files)))
    folders: Any = session.config._tmp_path_factory  # pyright: ignore
    base: Path = folders.getbasetemp()
    python()  # one server of programs for all workers
    gc.collect()
    gc.freeze()  # what is shared with the workers stays so: a collection there would touch, and so copy, all of it
    workers: dict[Connection, int] = {}
    for number in range(count):
        here, there = Pipe()
        if not (child := os.fork()):
            here.close()
            folders._basetemp = base / f"worker{number}"
            folders._basetemp.mkdir()
            work(session, there, files, at_end)
        there.close()
        workers[here] = child
    running: dict[Connection, Any] = {}
    while workers:
        for connection in wait([*workers]):
            assert isinstance(connection, Connection)
            try:
                kind, told = connection.recv()
            except EOFError:
                _, status = os.waitpid(workers.pop(connection), 0)
                if status:
                    report_crash(session, running.get(connection), os.waitstatus_to_exitcode(status))
                continue
            if kind == "file":
                # After a failure that ends the session no file is begun.
                over = session.shouldfail or session.shouldstop
                connection.send(NO_MORE if over else next(numbers, NO_MORE))
            else:
                running[connection] = told if kind == "start" else running.get(connection)
                show(session, kind, told)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)


def work(session: pytest.Session, connection: Connection, files: list[list[pytest.Item]], at_end: Any) -> None:
    """Be a worker, to the end of this process."""
    code = 1
    try:
        plugins = session.config.pluginmanager
        for name in ("terminalreporter", "logxml"):
            plugins.unregister(name=name) if plugins.has_plugin(name) else None
        worker = Worker(session, connection)
        plugins.register(worker)
        capture: Any = plugins.getplugin("capturemanager")
        capture.stop_global_capturing()  # into a file that the other workers have open as well
        capture.start_global_capturing()
        worker.run(files)
        at_end()
        code = 0
    except BaseException:
        connection.send(("crash", traceback.format_exc()))
    finally:
        connection.close()
        atexit._run_exitfuncs()
        os._exit(code)


def show(session: pytest.Session, kind: str, told: Any) -> None:
    hook = session.config.hook
    if kind == "report":
        report = hook.pytest_report_from_serializable(config=session.config, data=told)
        hook.pytest_runtest_logreport(report=report)
    elif kind == "crash":
        session.shouldfail = told
    else:
        nodeid, location = told
        log = hook.pytest_runtest_logstart if kind == "start" else hook.pytest_runtest_logfinish
        log(nodeid=nodeid, location=location)


def report_crash(session: pytest.Session, started: Any, code: int) -> None:
    nodeid, location = started or ("?", ("?", None, "?"))
    text = f"the worker ended with {code} in this test or after it; the rest of its file was not run"
    report = pytest.TestReport(nodeid, location, {}, "failed", text, "call")
    session.config.hook.pytest_runtest_logreport(report=report)
