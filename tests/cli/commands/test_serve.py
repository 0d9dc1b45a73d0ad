"""`treadle serve`."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.terminal import treadle
from waiting import GUARD_SECONDS


def test_serve_refuses_to_let_everybody_in(home: Path):
    done = treadle(home, "serve", "--host", "0.0.0.0", "-m", f"scripted:{home}/none.json")
    assert done.code == 2
    (home / "s.json").write_text("[]")
    pytest.importorskip("uvicorn")
    done = treadle(home, "serve", "--host", "0.0.0.0", "-m", f"scripted:{home}/s.json")
    assert (done.code, "tokens" in done.err) == (2, True), done.err


def test_serve_answers(home: Path):
    import urllib.request

    from cli.terminal import interrupt, script, start

    pytest.importorskip("uvicorn")
    with start(home, "serve", "--port", "0", "-m", script(home, "served")) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("serving at http://127.0.0.1:"), line + (
                process.stderr.read() if process.stderr else ""
            )
            address = line.split()[2]
            with urllib.request.urlopen(f"{address}/v1/models") as answer:
                assert b'"agent"' in answer.read()
            from treadle._models.catalog.default import served_models

            assert served_models(f"{address}/v1") == [], "our own agents are not taken for models"
        finally:
            interrupt(process)
            process.communicate(timeout=GUARD_SECONDS)


def test_tokens_come_from_a_file_or_the_environment(home: Path, monkeypatch: pytest.MonkeyPatch):
    from treadle._cli.commands.serve import tokens_from
    from treadle._types.errors import ConfigError

    monkeypatch.delenv("TREADLE_TOKEN", raising=False)
    assert tokens_from(None) == {}
    (home / "tokens").write_text("# who\nada abc123\n\ngrace def456 # too\n")
    monkeypatch.setenv("TREADLE_TOKEN", "from-env")
    assert tokens_from(str(home / "tokens")) == {"from-env": "user", "abc123": "ada", "def456": "grace"}
    (home / "tokens").write_text("just-one-word\n")
    with pytest.raises(ConfigError, match="line 1"):
        tokens_from(str(home / "tokens"))
