"""The tools of the project's own task sets, loaded as `treadle eval --tools` does it."""

from __future__ import annotations

from pathlib import Path

from treadle._cli.setup.toolbox import find_tools

EVALS = Path(__file__).resolve().parents[1] / "evals"
TOOLS = find_tools([f"{EVALS / 'worlds' / 'all_worlds.py'}:tools", "calculator"], call_factories=False)
"""What `load_tasks` takes: among them is a function that makes tools for each run."""
