"""The test that `runs export --pytest` writes."""

from __future__ import annotations

_TEST = '''"""A recorded run as a test: every request is rendered again from the log beside this file and compared, byte for byte,
with what was sent. It fails when a change to prompts, dialects, tools or the folding of records would have changed a request.
No model and no tool is called.

Written by `treadle runs export --pytest` from run {run_id}.
"""

import asyncio
from pathlib import Path

from treadle._flows.replay import replay
from treadle._journal import open_journal
from treadle._journal.export import import_run

LOG = Path(__file__).with_name({log!r})


def recorded_runs():
    """The run and those of its sub-agents, each as its records."""

    async def load():
        journal = open_journal("memory:")
        await import_run(journal, LOG.read_bytes())
        return {{info.run_id: await journal.load(info.run_id) for info in await journal.list(limit=100_000)}}

    return asyncio.run(load())


def test_every_request_is_rendered_as_it_was_sent():
    runs = recorded_runs()
    assert runs
    for run_id, records in runs.items():
        found = replay(records)
        assert found.same, f"run {{run_id}}: {{found.difference}}"
'''


def regression_test(run_id: str, log: str) -> str:
    # An id can be anything; in the text of a Python file it must stay text.
    safe = "".join(char if char.isalnum() or char in "._-" else "_" for char in run_id)
    return _TEST.format(run_id=safe, log=log)
