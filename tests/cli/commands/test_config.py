"""`treadle config`."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle._cli.main import main

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "config" / "research.json"


def test_config_check_and_schema(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    assert main(["config", "check", str(SAMPLE)]) == 2
    assert "TREADLE_TEST_PYTHON, which is not set" in capsys.readouterr().err
    monkeypatch.setenv("TREADLE_TEST_PYTHON", "python")
    monkeypatch.setenv("TREADLE_TEST_MCP", "server.py")
    assert main(["config", "check", str(SAMPLE)]) == 0
    assert "Agent:Research" in capsys.readouterr().out
    assert main(["config", "schema"]) == 0
    assert '"title": "Treadle agent document"' in capsys.readouterr().out
