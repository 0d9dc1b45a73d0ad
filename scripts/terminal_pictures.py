"""Pictures of the terminal program, of the real program on a scripted model: docs/images/terminal-*.svg.

python scripts/terminal_pictures.py      # needs tmux and rich
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
WIDTH, HEIGHT = 100, 26
PROGRAM = f"{sys.executable} -m treadle"
TOOLS = '''
import asyncio
from treadle import tool

@tool(effect="pure")
async def population(city: str):
    """How many people live in a city."""
    for piece in ("asking the registry\\n", f"{city}: 717 710 people\\n"):
        await asyncio.sleep(0.6)
        yield piece
'''


class Screen:
    """A tmux session with a shell in a folder of its own."""

    def __init__(self, folder: Path, width: int = WIDTH, height: int = HEIGHT) -> None:
        self.name, self.width = f"treadle-{os.getpid()}", width
        env = {
            **os.environ,
            "TREADLE_STATE": str(folder / "state"),
            "TERM": "xterm-256color",
            "PS1": "$ ",
            "PYTHONPATH": str(folder),
        }
        command = [
            "tmux",
            "new-session",
            "-d",
            "-s",
            self.name,
            "-x",
            str(width),
            "-y",
            str(height),
            "-c",
            str(folder),
            "bash --norc",
        ]
        subprocess.run(command, check=True, env=env)
        self.type("PS1='$ '; alias treadle='" + PROGRAM + "'; clear")
        time.sleep(1)

    def type(self, text: str) -> None:
        subprocess.run(["tmux", "send-keys", "-t", self.name, "-l", text], check=True)
        subprocess.run(["tmux", "send-keys", "-t", self.name, "Enter"], check=True)

    def text(self) -> str:
        return subprocess.run(
            ["tmux", "capture-pane", "-e", "-p", "-t", self.name], check=True, capture_output=True, text=True
        ).stdout

    def wait_for(self, words: str, seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while words not in Text.from_ansi(self.text()).plain and time.monotonic() < end:
            time.sleep(0.2)

    def keep(self, name: str, title: str, *, clear: bool = True) -> None:
        console = Console(record=True, width=self.width, file=io.StringIO())
        console.print(Text.from_ansi(self.text().rstrip()))
        IMAGES.mkdir(parents=True, exist_ok=True)
        picture = re.sub(
            r"@font-face \{.*?\}", "", console.export_svg(title=title), flags=re.DOTALL
        )  # no fonts from elsewhere
        (IMAGES / f"terminal-{name}.svg").write_text(picture, "utf-8")
        if clear:
            self.type("clear")
            time.sleep(0.5)

    def close(self) -> None:
        subprocess.run(["tmux", "kill-session", "-t", self.name])


def work_on_files(folder: Path) -> None:
    """Make the picture of `treadle code`: a change, its test, and the difference."""
    project = folder / "project"
    (project / "tests").mkdir(parents=True)
    (project / "area.py").write_text("def area(w, h):\n    return w + h\n")
    case = "class TestArea(unittest.TestCase):\n    def test_area(self):\n        self.assertEqual(area(2, 3), 6)\n"
    (project / "tests" / "test_area.py").write_text(f"import unittest\n\nfrom area import area\n\n\n{case}")
    test = {"name": "bash", "args": {"command": "python3 -B -m unittest tests/test_area.py"}}
    look = {"name": "bash", "args": {"command": "grep -rn area tests; cat area.py"}}
    edit = {"name": "edit", "args": {"path": "area.py", "old": "w + h", "new": "w * h"}}
    replies = [look, edit, test, "The sides were added instead of multiplied. The test passes now."]
    (folder / "code.json").write_text(json.dumps(replies))
    screen = Screen(folder, height=46)
    try:
        screen.type('cd project; clear; treadle code "make the test pass" -m scripted:../code.json')
        screen.wait_for("[tests:")
        time.sleep(1)
        screen.type("/diff")
        screen.wait_for("+    return w * h")
        time.sleep(1)
        screen.keep("code", "treadle code", clear=False)
    finally:
        screen.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        work_on_files(Path(name))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cities.py").write_text(TOOLS)
        ask = {"name": "population", "args": {"city": "Oslo"}}
        (folder / "run.json").write_text(json.dumps([ask, "About **718 thousand** people live in Oslo."]))
        (folder / "chat.json").write_text(json.dumps([ask, "About 718 thousand, some 13 % of all Norwegians."]))
        (folder / "french.json").write_text(json.dumps(["Environ 718 mille habitants, soit 13 % des Norvégiens."]))
        words = "READY. Twelve. The tool said 42."
        (folder / "talker.json").write_text(json.dumps([words] * 40))
        screen = Screen(folder)
        try:
            screen.type('treadle run "How many people live in Oslo?" -m scripted:run.json -t cities:population')
            screen.wait_for("✓")
            time.sleep(1)
            screen.keep("run", "treadle run")
            screen.type("treadle chat -m scripted:chat.json -t cities:population")
            screen.wait_for(">")
            time.sleep(1)
            screen.type("How many people live in Oslo?")
            screen.wait_for("asking the registry")
            screen.type("and what share of the country is that?")
            screen.wait_for("✓")
            time.sleep(1)
            screen.keep("chat", "treadle chat: a message while it works", clear=False)
            screen.type("/quit")
            time.sleep(2)
            screen.type("clear; treadle runs list")
            screen.wait_for("Oslo")
            time.sleep(1)
            screen.keep("runs", "treadle runs list")
            screen.type('treadle runs fork last --at 2 --go --say "in French" -m scripted:french.json -q')
            screen.wait_for("habitants")
            screen.type("clear; treadle runs compare $(treadle runs list --ids -n 2 | tail -1) last")
            screen.wait_for("steps:")
            time.sleep(1)
            screen.keep("compare", "treadle runs compare: a fork and its origin")
            screen.type("treadle doctor scripted:talker.json")
            screen.wait_for("dialect", 30)
            time.sleep(1)
            screen.keep("doctor", "treadle doctor")
        finally:
            screen.close()
        narrow = Screen(folder, 44)
        try:
            narrow.type("treadle chat -m scripted:chat.json -t cities:population")
            narrow.wait_for("Ctrl-D")
            time.sleep(1)
            narrow.type("/help")
            narrow.wait_for("Ctrl-C stops")
            time.sleep(1)
            narrow.keep("narrow", "treadle chat on 44 columns", clear=False)
        finally:
            narrow.close()


if __name__ == "__main__":
    main()
