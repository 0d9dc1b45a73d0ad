"""The fixtures `record` and `replay`, as a user's own tests use them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

from programs import python

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = "treadle._testing.pytest_plugin"
HEAD = """
import asyncio
from aiohttp import web
from treadle import Agent, OpenAIModel
from treadle.testing import assert_answered

REPLY = {"choices": [{"message": {"role": "assistant", "content": "Warm."}, "finish_reason": "stop"}]}

"""
RECORDING = """
async def provider():
    async def reply(request):
        return web.json_response(REPLY)

    app = web.Application()
    app.router.add_post("/chat/completions", reply)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"


def test_weather(START):
    async def main():
        runner, url = await provider()
        async with START("weather"UPSTREAM) as server:
            model = OpenAIModel("m", base_url=server.url, api_key="k")
            async with model:
                assert_answered(await Agent(model, tools=None).run("How warm is it?"), "warm")
        await runner.cleanup()

    asyncio.run(main())
"""


def pytest_in(folder: Path, fixture: str, upstream: str, *options: str) -> subprocess.CompletedProcess[str]:
    code = HEAD + RECORDING.replace("START", fixture).replace("UPSTREAM", upstream)
    (folder / "test_weather.py").write_text(code, "utf-8")
    return run_pytest(folder, *options)


def run_pytest(folder: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [*python(), "-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", *options]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | variables
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, env=environment)


def test_a_test_is_recorded_and_replayed(tmp_path: Path):
    recorded = pytest_in(tmp_path, "record", ", url")
    assert recorded.returncode == 0, recorded.stdout
    file = tmp_path / "recordings" / "weather.jsonl"
    assert "How warm is it?" in file.read_text("utf-8")
    replayed = pytest_in(tmp_path, "replay", "")
    assert replayed.returncode == 0, replayed.stdout
    file.write_text(file.read_text("utf-8").replace("How warm is it?", "How cold is it?"), "utf-8")
    assert "How cold is it?" in pytest_in(tmp_path, "replay", "").stdout
    assert pytest_in(tmp_path, "replay", ", url", "--treadle-record").returncode == 0
    assert "How warm is it?" in file.read_text("utf-8")


def test_the_example_of_the_guide(tmp_path: Path):
    """It records once, with a key, and passes then without network and key."""
    page = (ROOT / "docs" / "howto" / "test_an_agent.md").read_text("utf-8")
    [code] = re.findall(r'^```python title="test_lisbon.py;[^\n]*\n(.*?)^```', page, re.DOTALL | re.MULTILINE)
    with provider() as (address, keys):
        (tmp_path / "test_lisbon.py").write_text(code.replace("https://api.openai.com/v1", address), "utf-8")
        recorded = run_pytest(tmp_path, "--treadle-record", OPENAI_API_KEY="sk-a-key-of-this-test")
    assert recorded.returncode == 0, recorded.stdout
    assert keys == ["Bearer sk-a-key-of-this-test"]
    assert "sk-a-key" not in (tmp_path / "recordings" / "lisbon.jsonl").read_text("utf-8")
    replayed = run_pytest(tmp_path, OPENAI_API_KEY="")  # the provider is gone
    assert replayed.returncode == 0, replayed.stdout


@contextmanager
def provider() -> Iterator[tuple[str, list[str]]]:
    """The address of a provider that answers every question with yes, and the keys it was shown."""
    keys: list[str] = []
    reply = json.dumps({"choices": [{"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}]})

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            keys.append(self.headers["Authorization"])
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(reply.encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", keys
        server.shutdown()
        thread.join()


def test_a_missing_recording_says_what_to_do(tmp_path: Path):
    assert "run pytest --treadle-record" in pytest_in(tmp_path, "replay", ", url").stdout


def test_the_package_brings_the_plugin():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert settings["project"]["entry-points"]["pytest11"] == {"treadle": PLUGIN}
    assert import_module(PLUGIN).record
