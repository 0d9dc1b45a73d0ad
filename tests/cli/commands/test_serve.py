"""`treadle serve`."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.terminal import treadle
from treadle import open_journal
from treadle._types.events import Record, RunStarted
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


def test_unfinished_runs_that_no_server_started_are_listed(home: Path):
    import asyncio

    from cli.terminal import interrupt, script, start

    pytest.importorskip("uvicorn")

    async def put() -> None:
        journal = open_journal(home / "theirs.db")
        await journal.append([Record("b" * 32, 0, 0.0, RunStarted("Run id", agent="agent", model="m"))])
        await journal.aclose()

    asyncio.run(put())
    with start(home, "serve", "--port", "0", "-m", script(home, "x"), "--journal", "theirs.db") as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
        finally:
            interrupt(process)
            _, err = process.communicate(timeout=GUARD_SECONDS)
    assert f"run {'b' * 32} is unfinished, but no server started it: treadle runs resume" in err


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


def test_a_port_that_cannot_be_had_is_one_line(home: Path):
    import socket

    from cli.terminal import script

    pytest.importorskip("uvicorn")
    model = script(home, "x")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = treadle(home, "serve", "--port", port, "-m", model)
        line = f"treadle: port {port} on 127.0.0.1 is in use by another program: choose another with --port, "
        assert (done.code, done.out) == (2, "")
        assert done.err.splitlines()[1:] == [f"{line}or --port 0 for any free one"]
    done = treadle(home, "serve", "--port", "99999", "-m", model)
    expected = "treadle serve: --port: 99999 is not a whole number from 0 to 65535 (treadle serve --help)\n"
    assert (done.code, done.err) == (2, expected)


def test_a_journal_that_cannot_be_opened_is_one_line(home: Path):
    from cli.terminal import script

    pytest.importorskip("uvicorn")
    (home / "runs.db").mkdir()
    done = treadle(home, "serve", "--port", "0", "-m", script(home, "x"), "--journal", "runs.db")
    assert (done.code, len(done.err.splitlines())) == (1, 2), done.err
    assert "cannot be created or written" in done.err
