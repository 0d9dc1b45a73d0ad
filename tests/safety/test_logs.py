"""Logs do not hold secrets: not in messages, not in arguments, not in tracebacks."""

from __future__ import annotations

import io
import logging
import re
from pathlib import Path

import pytest

from treadle import OpenAIModel
from treadle._safety.logs import get_logger, log_handled

SOURCE = Path(__file__).resolve().parent.parent.parent / "src" / "treadle"
GIVEN = "Xy7-given-in-code"


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch):
    for name in ("treadle", "treadle.server"):  # tests of the terminal program silence them
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
        monkeypatch.setattr(logging.getLogger(name), "disabled", False)
    monkeypatch.setattr(logging.root.manager, "disable", 0)
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root = logging.getLogger()
    root.addHandler(handler)
    yield stream
    root.removeHandler(handler)


@pytest.mark.parametrize("name", ["treadle", "treadle.server", "treadle.anything"])
def test_messages_arguments_and_tracebacks(name: str, written: io.StringIO, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DB_PASS", "secret-of-the-database")
    model = OpenAIModel("m", api_key=GIVEN)
    logger = get_logger(name)
    logger.setLevel(logging.INFO)
    logger.warning("the key %s and %s", GIVEN, "secret-of-the-database", stack_info=True)
    try:
        raise ValueError(f"refused: {GIVEN}") from KeyError("sk_live_abcdefghijklmnop")
    except ValueError:
        logger.exception("it failed")
    logger.info("nothing %s here", "secret")
    text = written.getvalue()
    assert "the key [redacted:openai-key] and [redacted:DB_PASS]" in text
    assert "ValueError: refused: [redacted:openai-key]" in text
    assert "[redacted:api-key]" in text
    assert "Traceback (most recent call last)" in text
    assert "nothing secret here" in text
    for secret in (GIVEN, "secret-of-the-database", "sk_live_"):
        assert secret not in text
    del model


def test_a_record_that_cannot_be_written_is_still_the_handlers_to_report():
    record = logging.LogRecord("treadle", logging.INFO, "x", 1, "%d", ("no number",), None)
    assert get_logger().filter(record)


def test_every_logger_of_ours_has_the_filter():
    """`logging.getLogger` gives one without it."""
    allowed = {"_safety/logs.py", "_cli/main.py", "_tools/mcp/client.py"}  # the latter two only silence loggers
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(r"logging\.getLogger", path.read_text("utf-8"))
    }
    assert found <= allowed


def test_a_handled_failure_is_one_line_and_its_traceback_is_for_those_who_log_more(caplog: pytest.LogCaptureFixture):
    for level, traceback in (("WARNING", False), ("INFO", True)):
        caplog.clear()
        with caplog.at_level(level, logger="treadle"):
            try:
                raise ValueError("first line\nsecond line")
            except ValueError:
                log_handled(get_logger(), "step %s failed", "a")
        assert caplog.records[0].getMessage() == "step a failed: ValueError: first line"
        assert ("Traceback" in caplog.text) == traceback
