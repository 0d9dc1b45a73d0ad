"""A real browser, the built page, a real server. Skipped with a reason where one of them is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.fspath).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.net)


@pytest.fixture(scope="session")
def built_page() -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("build_page", ROOT / "web" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not module.is_current():
        if not module.find_node():
            pytest.skip("the page is not built and there is no Node to build it with")
        module.build()


@pytest.fixture(scope="module")  # not longer: while it is open its event loop runs, and no other test can have one
def browser(built_page: None) -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium: install it (Debian: apt-get install chromium)")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-background-networking"]
        )
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
