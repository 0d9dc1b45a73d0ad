"""The work of a run in its folder, from its log: which files its calls changed, and whether tests ran after that."""

from __future__ import annotations

import re
from collections.abc import Iterable

from treadle._types.events import Record, ToolDone, ToolStarted, TreeSaved
from treadle._types.messages import text_of

TEST_PROGRAMS = re.compile(
    r"\b(?:pytest|unittest|tox|nox|ctest|rspec|phpunit)\b|"
    r"\b(?:npm|pnpm|yarn|bun|deno|cargo|go|make|mvn|gradle|gradlew|dotnet|mix|swift|sbt)\b[^|;&\n]*\b(?:test|check)\b"
)
"""Commands that run tests."""


class Work:
    """Changes and tests of a run."""

    def __init__(self) -> None:
        self.opened = False
        """Its folder is part of the log."""
        self.changed = False
        self.paths: dict[str, str] = {}
        """The files that its calls changed, each with the last of these calls."""
        self.complete = True
        """The records name every file that was changed."""
        self.tested_after = False
        self.untested = False
        self.tests = "none were run"
        self.test = ""
        """The call that ran tests last."""
        self.passed = False
        self.output = ""


def work_of(records: Iterable[Record]) -> Work:
    """Read from a log what was changed, and which test command was the last one and how it ended."""
    work = Work()
    calls: dict[str, ToolStarted] = {}
    tree = ""
    for record in records:
        event = record.event
        if isinstance(event, ToolStarted):
            calls[event.call.id] = event
        elif isinstance(event, TreeSaved) and event.tree:
            work.opened = True
            if tree and event.tree != tree:
                work.changed = True
                started = calls.get(event.call_id) if event.call_id else None
                if started is None or not _is_test(started):  # a test may write caches
                    work.tested_after, work.untested = False, True
                if started is not None:
                    made = event.changes
                    work.paths |= {path[2:].casefold(): event.call_id for path in made.paths}
                    work.complete &= len(made.paths) >= made.added + made.changed + made.removed
            tree = event.tree
        elif isinstance(event, ToolDone) and event.executed:
            started = calls.get(event.call_id)
            if started is not None and _is_test(started):
                command = " ".join(str(started.call.args["command"]).split())[:80]
                work.test, work.output = event.call_id, text_of(event.content)
                work.passed = not event.error and "[exit code " not in work.output[-200:]
                work.tests = f"`{command}` {'passed' if work.passed else 'failed'}"
                work.tested_after, work.untested = True, False
    if work.untested and work.tests != "none were run":
        work.tests += ", before the last change"
    return work


def _is_test(started: ToolStarted) -> bool:
    return started.call.name == "bash" and bool(TEST_PROGRAMS.search(str(started.call.args.get("command", ""))))
