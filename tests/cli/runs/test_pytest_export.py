"""`runs export --pytest`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from cli.terminal import TWO, Inside, environment, script
from programs import python


def test_export_as_a_regression_test(home: Path, inside: Inside):
    inside("run", 'it\'s a "quoted" \\ question', "-m", script(home, *TWO), "--system", "You are careful.")
    folder = home / "exported"
    folder.mkdir()
    assert inside("runs", "export", "last", "--pytest", "-o", "exported/test_it.py").code == 0
    assert inside("runs", "export", "last", "--pytest", "-o", "exported/test_it.txt").code == 2

    def pytest_run() -> subprocess.CompletedProcess[str]:
        command = [
            *python(),
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-c",
            os.devnull,
            "--rootdir",
            str(folder),
            str(folder),
        ]
        env = environment(home, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
        return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env)

    assert pytest_run().returncode == 0
    log = folder / "test_it.jsonl"
    log.write_text(log.read_text().replace("You are careful.", "You are reckless.", 1))
    failed = pytest_run()
    assert failed.returncode == 1
    assert "differs in its message 0" in failed.stdout
