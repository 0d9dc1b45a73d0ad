"""`treadle models prices`."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.terminal import Inside

LIST = {"date": "2026-12-01", "source": "our contract", "models": {"gpt-5": {"input": 1.0, "output": 8.0}}}


@pytest.fixture
def address() -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(LIST).encode() if self.path == "/prices.json" else b"gone"
            self.send_response(200 if self.path == "/prices.json" else 404)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_what_models_cost_since_when_and_from_where(home: Path, inside: Inside):
    out = inside("models", "prices", "openai:gpt-5", "openai:unheard-of").out
    assert "prices of 2026-10" in out
    assert "price lists of the providers" in out
    assert "$1.25" in out
    assert [line.split()[1:] for line in out.splitlines() if "unheard-of" in line] == [["?", "?", "?", "?", "?"]]


def test_an_update_from_a_file_and_back(home: Path, inside: Inside, tmp_path: Path):
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(LIST))
    out = inside("models", "prices", "openai:gpt-5", "--update", str(path)).out
    assert "prices of 2026-12-01, 1 entries, from our contract" in out
    assert "$8" in out
    assert "$10" in inside("models", "prices", "openai:gpt-5", "--reset").out


def test_an_update_from_an_address(home: Path, inside: Inside, address: str):
    assert "our contract" in inside("models", "prices", "--update", f"{address}/prices.json").out
    missing = inside("models", "prices", "--update", f"{address}/other.json")
    assert "404" in missing.err


def test_a_list_that_is_not_there(home: Path, inside: Inside):
    missing = inside("models", "prices", "--update", "nowhere.json")
    assert "nowhere.json cannot be read" in missing.err
