"""A work folder beside a secret, for the tests of the file tools and of the folder itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from treadle._tools.base import Tool
from treadle._tools.builtin import workfolder
from treadle._tools.builtin.files import files


class Workspace:
    """The work folder `root` beside the folder `outside`, and the tools over it as methods."""

    def __init__(self, base: Path, **options: Any) -> None:
        self.root = base / "work"
        self.outside = base / "outside"
        self.outside.mkdir()
        (self.outside / "secret.txt").write_text("top secret")
        self.tools: dict[str, Tool] = {tool.name: tool for tool in files(self.root, **options)}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self.tools[name].execute


@pytest.fixture(params=["handles", "checked paths"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Both ways of keeping inside, also on a system that would choose the first."""
    if request.param == "checked paths":
        monkeypatch.setitem(workfolder.WorkFolder.__init__.__kwdefaults__, "handles", False)
        monkeypatch.setattr(workfolder, "_NO_FOLLOW", getattr(os, "O_NONBLOCK", 0))  # as on a system without O_NOFOLLOW
    elif not workfolder.HAS_FOLDER_HANDLES:
        pytest.skip("this system has no folder handles")
    return Workspace(tmp_path)
