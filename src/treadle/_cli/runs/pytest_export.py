"""The test that `runs export --pytest` writes."""

from __future__ import annotations

_TEST = '''"""A recorded run as a test: every request is rendered again from the log beside this file and compared,
byte for byte, with what was sent. It fails when a change to prompts, dialects, tools or the folding of
records would have changed a request. No model and no tool is called.

Written by `treadle runs export --pytest` from run {run_id}.
"""

from pathlib import Path

from treadle.testing import assert_export_replays

LOG = Path(__file__).with_name({log!r})


def test_every_request_is_rendered_as_it_was_sent():
    assert_export_replays(LOG)
'''


def regression_test(run_id: str, log: str) -> str:
    # An imported id can contain anything; in the generated file it must stay within its comment.
    safe = "".join(char if char.isalnum() or char in "._-" else "_" for char in run_id)
    return _TEST.format(run_id=safe, log=log)
