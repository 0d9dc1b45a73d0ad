"""`treadle submit`."""

from __future__ import annotations

import pytest

from treadle._cli.main import main


def test_submit_needs_a_journal_that_can_be_shared(capsys: pytest.CaptureFixture[str]):
    assert main(["submit", "hello"]) == 2
    assert "postgres://" in capsys.readouterr().err
