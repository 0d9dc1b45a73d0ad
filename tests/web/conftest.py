"""A real browser, the built page, a real server. Skipped with a reason where one of them is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTRAST = (Path(__file__).parent / "contrast.js").read_text("utf-8")
IMAGES = ROOT / "docs" / "images"
FONTS = Path(__file__).parent / "fonts.conf"
# The first is the same engine without the rest of a browser, and takes a quarter of its time.
CHROMIUMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in CHROMIUMS if (path := shutil.which(name))), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.net)
    if os.environ.get("TREADLE_SCREENSHOTS"):  # `tasks.py pictures`: only those that take one
        items[:] = [item for item in items if "shoot" in getattr(item, "fixturenames", ())]


def _builder() -> Any:
    import importlib.util

    spec = importlib.util.spec_from_file_location("build_page", ROOT / "web" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def built_page() -> None:
    module = _builder()
    if not module.is_current():
        if not module.find_node():
            pytest.skip("the page is not built and there is no Node to build it with")
        module.ensure()


@pytest.fixture(scope="session")
def node_modules(built_page: None) -> Path:
    """What the page is built with and tested with, from its lock file."""
    module = _builder()
    with module.alone():
        if not (ROOT / "web" / "node_modules" / "axe-core").is_dir():
            if not (node := module.find_node()):
                pytest.skip("the page's packages are not installed and there is no Node to install them with")
            module.install(node)
    return ROOT / "web" / "node_modules"


@pytest.fixture(scope="session")
def axe(node_modules: Path) -> Callable[..., list[str]]:
    """What axe finds wrong with a page: the rule, and the first element that breaks it."""
    source = (node_modules / "axe-core" / "axe.min.js").read_text("utf-8")

    def look(page: Any, within: str = "body", options: Any = None) -> list[str]:
        if not page.evaluate("'axe' in window"):
            page.evaluate(source)  # not as a script of the page: its content policy forbids that
        run = "([where, how]) => axe.run(where, how).then((all) => all.violations.map((v) => [v.id, v.nodes[0].html]))"
        found = page.evaluate(run, [within, options or {}])
        return [f"{rule}: {html[:200]}" for rule, html in found]

    return look


_BUNDLE = """import { rolldown } from "rolldown";
const made = await rolldown({ input: process.argv[1] });
process.stdout.write((await made.generate({ format: "iife", name: process.argv[2] })).output[0].code);"""


@pytest.fixture(scope="session")
def bundle(node_modules: Path) -> Callable[[str, str], str]:
    """A module of the page as one script that leaves its exports under a name, to be tried by itself in a browser."""

    def make(source: str, name: str) -> str:
        node = _builder().find_node()
        if node is None:
            pytest.skip("there is no Node to bundle a module with")
        command = [*node, "--input-type=module", "-e", _BUNDLE, source, name]
        return subprocess.run(
            command, cwd=node_modules.parent, capture_output=True, text=True, check=True, encoding="utf-8"
        ).stdout

    return make


@pytest.fixture(scope="package")  # not longer: while it is open its event loop runs, and tests elsewhere need one
def browser(built_page: None) -> Iterator[Any]:
    yield from launched()


def launched() -> Iterator[Any]:
    """Chromium, whose pages do not move by themselves: each frame of what moves costs as much as a step of a test."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium: install it (Debian: apt-get install chromium-headless-shell)")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM,
            # With the limit no process is started in case another page is opened: a sixth of the time of a test.
            args=["--no-sandbox", "--disable-background-networking", "--renderer-process-limit=1"],
            env={**os.environ, "FONTCONFIG_FILE": str(FONTS)},
        )
        new_context = chromium.new_context
        chromium.new_context = lambda **options: new_context(**{"reduced_motion": "reduce", **options})
        yield chromium
        chromium.close()


@pytest.fixture
def shoot() -> Callable[[Any, str], None]:
    """Keeps pictures of the page for the documentation when TREADLE_SCREENSHOTS is set."""

    def keep(page: Any, name: str) -> None:
        if os.environ.get("TREADLE_SCREENSHOTS"):
            IMAGES.mkdir(parents=True, exist_ok=True)
            page.wait_for_timeout(350)
            page.screenshot(path=IMAGES / f"{name}.png")

    return keep
