"""`treadle report` and `treadle runs import` as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treadle._cli.main import main

DUMP = [
    {"role": "user", "content": "What does the lamp cost?"},
    {"role": "assistant", "content": "40 dollars."},
]


def test_a_dump_is_imported_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path / "state"))
    (tmp_path / "chat.json").write_text(json.dumps(DUMP))
    assert main(["runs", "import", str(tmp_path / "chat.json")]) == 0
    run = capsys.readouterr().out.strip()
    assert main(["runs", "show", run]) == 0
    assert "40 dollars." in capsys.readouterr().out
    assert main(["report"]) == 0
    assert "1 runs, 1 requests" in capsys.readouterr().out
    (tmp_path / "script.json").write_text('["Hello."]')
    assert main(["run", "Hi", "-q", "-m", f"scripted:{tmp_path / 'script.json'}"]) == 0
    assert main(["report"]) == 0
    assert "2 runs, 2 requests" in capsys.readouterr().out, "a run of one's own counts like what was recorded"
    assert main(["report", "-n", "1"]) == 0
    left_out = capsys.readouterr()
    assert "1 runs, 1 requests" in left_out.out
    assert "newest 1 runs; -n N takes more" in left_out.err
    page = tmp_path / "report.html"
    assert main(["report", "--tag", "", "-o", str(page)]) == 0
    assert page.read_text().startswith("<!doctype html>")
    (tmp_path / "odd.json").write_text("{}")
    assert main(["runs", "import", str(tmp_path / "odd.json")]) == 2
    assert "cannot be imported" in capsys.readouterr().err


def test_a_journal_that_is_not_there_is_no_empty_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path / "state"))
    assert main(["report", "--journal", str(tmp_path / "nofile.db")]) == 2
    assert "there is no such file" in capsys.readouterr().err
    assert not (tmp_path / "nofile.db").exists()


def test_a_finished_run_is_resumed_without_loading_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "models"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nothing can be loaded from there
    (tmp_path / "chat.json").write_text(json.dumps(DUMP))
    assert main(["runs", "import", str(tmp_path / "chat.json")]) == 0
    capsys.readouterr()
    assert main(["runs", "resume", "last", "-q", "-m", "local:hf:nobody/nothing"]) == 0, capsys.readouterr().err
