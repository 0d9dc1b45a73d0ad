"""Fixtures for pytest, there as soon as Treadle is installed: `record` and `replay` for the traffic of a provider.

Nothing else of Treadle is imported before a fixture is used.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from treadle._testing.servers import TrafficPlayer, TrafficRecorder


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("treadle")
    group.addoption(
        "--treadle-record",
        action="store_true",
        help="ask the provider and write the traffic files anew, where a test says replay(name, upstream)",
    )


def _file(request: pytest.FixtureRequest, name: str) -> Path:
    """`recordings/NAME.jsonl` beside the file of the test."""
    return request.path.parent / "recordings" / f"{name}.jsonl"


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Callable[[str, str], TrafficRecorder]:
    """`async with record("weather", "https://api.openai.com/v1") as server:` forwards every request to the provider and
    writes the exchanges to `recordings/weather.jsonl` beside the test. Give a model `base_url=server.url`."""
    from treadle._testing.servers import TrafficRecorder

    def start(name: str, upstream: str) -> TrafficRecorder:
        path = _file(request, name)
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        return TrafficRecorder(path, upstream)

    return start


@pytest.fixture
def replay(
    request: pytest.FixtureRequest, record: Callable[[str, str], TrafficRecorder]
) -> Callable[..., TrafficPlayer | TrafficRecorder]:
    """`async with replay("weather") as server:` answers as recorded, and fails the test when a request differs or is
    missing. With an address, `replay("weather", "https://api.openai.com/v1")`, `pytest --treadle-record` records."""
    from treadle._testing.servers import TrafficPlayer

    def start(name: str, upstream: str = "", *, strict: bool = True) -> TrafficPlayer | TrafficRecorder:
        if upstream and request.config.getoption("--treadle-record"):
            return record(name, upstream)
        path = _file(request, name)
        if not path.exists():
            how = "run pytest --treadle-record" if upstream else "record it with the fixture `record`"
            pytest.fail(f"there is no recording {path}: {how}", pytrace=False)
        return TrafficPlayer(path, strict=strict)

    return start
