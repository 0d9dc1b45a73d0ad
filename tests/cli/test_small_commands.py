"""`treadle kb`, `treadle config`, and what `worker` and `submit` need."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle._cli.main import main

SAMPLE = Path(__file__).resolve().parent.parent / "data" / "config" / "research.json"


def test_kb_add_search_list_remove(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "a.txt").write_text("The lighthouse of Lindesnes was built in 1655.")
    base = ["--kb", str(tmp_path / "kb.db")]
    assert main(["kb", "add", *base, str(tmp_path / "a.txt")]) == 0
    assert main(["kb", "search", *base, "lighthouse"]) == 0
    assert "1655" in capsys.readouterr().out
    assert main(["kb", "list", *base]) == 0
    name = capsys.readouterr().out.split(":")[0]
    assert main(["kb", "remove", *base, name]) == 0
    assert main(["kb", "list", *base]) == 0
    assert capsys.readouterr().out == ""


def test_config_check_and_schema(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    assert main(["config", "check", str(SAMPLE)]) == 2
    assert "TREADLE_TEST_PYTHON, which is not set" in capsys.readouterr().err
    monkeypatch.setenv("TREADLE_TEST_PYTHON", "python")
    monkeypatch.setenv("TREADLE_TEST_MCP", "server.py")
    assert main(["config", "check", str(SAMPLE)]) == 0
    assert "Agent:Research" in capsys.readouterr().out
    assert main(["config", "schema"]) == 0
    assert '"title": "Treadle agent document"' in capsys.readouterr().out


def test_submit_needs_a_journal_that_can_be_shared(capsys: pytest.CaptureFixture[str]):
    assert main(["submit", "hello"]) == 2
    assert "postgres://" in capsys.readouterr().err
