"""The user's own defaults."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.terminal import Inside, script


def test_the_users_file_gives_defaults_and_flags_win(home: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch):
    model, other = script(home, "from the file", name="a"), script(home, "from the flag", name="b")
    config = home / "config.toml"
    config.write_text(f'model = "{model}"\ntools = ["none"]\njournal = "none"\n[settings]\nmax_iterations = 3\n')
    monkeypatch.setenv("TREADLE_CONFIG", str(config))
    done = inside("run", "q", "--json")
    started = json.loads(done.out.splitlines()[0])["event"]
    assert started["settings"]["max_iterations"] == 3
    assert "tools" not in started
    assert "named in the config file" in done.err
    assert inside("run", "q", "-m", other).out == "from the flag\n"
    assert not (home / "state" / "journal.db").exists()
    config.write_text("modle = 1\n")
    done = inside("run", "q")
    assert done.code == 2
    assert "modle" in done.err
