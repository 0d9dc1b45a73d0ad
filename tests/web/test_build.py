"""The page is built by whoever needs it first, also when several need it at once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from .conftest import ROOT


def test_several_processes_that_need_the_page_build_it_once(tmp_path: Path):
    """Each ran `npm ci`, which took away the compiler under the others."""
    shutil.copytree(ROOT / "web", tmp_path / "web", ignore=shutil.ignore_patterns("node_modules", "src"))
    (tmp_path / "web" / "src").mkdir()
    for name in ("main.tsx", "exported.tsx"):  # a small page: what is tested is who builds it
        (tmp_path / "web" / "src" / name).write_text("export const page = 1;\n")
    (tmp_path / "src" / "treadle" / "_server").mkdir(parents=True)
    command = [sys.executable, str(tmp_path / "web" / "build.py")]
    side_by_side = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(3)
    ]
    told = [process.communicate(timeout=280)[0] for process in side_by_side]
    assert [process.returncode for process in side_by_side] == [0, 0, 0], told
    assert sum("the page is in" in text for text in told) == 1, told
    assert (tmp_path / "src" / "treadle" / "_server" / "static" / "index.html").exists()
