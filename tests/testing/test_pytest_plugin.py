"""The fixtures `record` and `replay`, as a user's own tests use them."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

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
    command = [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", *options]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
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


def test_a_missing_recording_says_what_to_do(tmp_path: Path):
    assert "run pytest --treadle-record" in pytest_in(tmp_path, "replay", ", url").stdout


def test_the_package_brings_the_plugin():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert settings["project"]["entry-points"]["pytest11"] == {"treadle": PLUGIN}
    assert import_module(PLUGIN).record
