"""`treadle record` as a user starts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from kit import go
from record.exchanges import lamp_run, recorded
from treadle import open_journal
from treadle._cli.main import main
from treadle._types.state import RunState, fold
from treadle.testing import load_traffic
from waiting import eventually

SECRET = "sk-abcdefghijklmnopqrstuvwxyz0123"
CHILD = f"""
import os, sys, urllib.request
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", b'{{"model": "m"}}',
    {{"authorization": "Bearer {SECRET}", "content-type": "application/json"}})
print(urllib.request.urlopen(request).read().decode())
sys.exit(7)
"""


class Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = {"path": self.path, "key": self.headers["authorization"], "body": body}
        if "reply" in body:  # what a test wants to be answered
            said = {"choices": [{"index": 0, "message": body["reply"], "finish_reason": "stop"}]}
        answer = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return {**kept, "HOME": str(folder), "TREADLE_STATE": str(folder), **more}


def test_a_program_is_recorded_and_its_exit_code_kept(provider: str, tmp_path: Path):
    command = [sys.executable, "-P", "-m", "treadle", "record", "--save", "saved", "--journal", "sqlite:///j.db"]
    command += ["--", sys.executable, "-c", CHILD]
    env = environment(tmp_path, OPENAI_BASE_URL=provider)
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 7, done.stderr
    assert json.loads(done.stdout) == {
        "path": "/v1/chat/completions",
        "key": f"Bearer {SECRET}",
        "body": {"model": "m"},
    }
    assert "1 exchange recorded" in done.stderr
    (file,) = (tmp_path / "saved").iterdir()
    assert SECRET not in file.read_text()
    assert load_traffic(file)[0].request == {"model": "m"}
    assert (tmp_path / "j.db").exists()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_listening_until_it_is_stopped(provider: str, tmp_path: Path):
    command = [sys.executable, "-P", "-m", "treadle", "record", "--listen", "0", "--to", provider, "--save", "saved"]
    child = subprocess.Popen(command, env=environment(tmp_path), cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stderr is not None
        line = child.stderr.readline()
        assert f"passes on to {provider}" in line
        address = next(word for word in line.split() if word.startswith("http"))
        with urllib.request.urlopen(f"{address}/chat/completions", b'{"model": "m"}') as answer:
            assert json.load(answer)["path"] == "/v1/chat/completions"
        eventually(lambda: list((tmp_path / "saved").glob("*")), "the exchange is saved")
        child.send_signal(signal.SIGTERM)
        assert child.wait(60) == 0
        assert "1 exchange recorded" in child.stderr.read()
    finally:
        child.kill()
        child.wait()
        if child.stderr is not None:
            child.stderr.close()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "give a program after --"),
        (["--listen", "0"], "--listen needs --to URL"),
        (["--listen", "0", "--to", "https://key:secret@host"], "may have no user"),
        (["--listen", "0", "--to", "a=http://h", "--to", "http://h"], "write NAME=URL"),
        (["--to", "http://h", "--", "true"], "--to belongs to --listen"),
        (["--", "/does/not/exist"], "cannot be started"),
        (["--journal", "foo://x", "--", "true"], "no such kind of journal"),
    ],
)
def test_what_is_wrong_is_said(
    arguments: list[str],
    problem: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
):
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path))
    assert main(["record", *arguments]) == 2
    assert problem in capsys.readouterr().err


def test_a_recorded_run_goes_on_with_stubs_whose_results_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path))
    where = tmp_path / "journal.db"

    async def prepare() -> str:
        (records,) = await recorded(lamp_run(), journal=open_journal(where))
        return records[0].run

    run = go(prepare())
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"name": "price", "args": {"item": "lamp"}}, "It costs 44."]))
    assert main(["runs", "fork", run, "--at", "1", "--go", "-q", "-m", f"scripted:{script}", "-t", "stubs"]) == 4
    assert main(["runs", "answer", "last", "--result", "44", "-q"]) == 0

    async def check() -> None:
        journal = open_journal(where)
        (info, *_) = await journal.list(limit=1)
        state = fold(await journal.load(info.run_id))
        assert [(step.tool, step.observation) for step in state.steps] == [("price", "44")]
        assert state.finished is not None
        assert state.finished.answer == "It costs 44."
        await journal.aclose()

    go(check())


def test_a_recorder_that_is_killed_is_followed_by_one_that_goes_on(tmp_path: Path, provider: str):
    """What was recorded before is there, and the same run goes on."""
    call = {"id": "call_1", "type": "function", "function": {"name": "price", "arguments": '{"item": "lamp"}'}}
    question = {"role": "user", "content": "What does the lamp cost?"}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    told = {"role": "tool", "tool_call_id": "call_1", "content": "40"}
    first = {"model": "m", "messages": [question], "reply": asked}
    second = {"model": "m", "messages": [question, asked, told], "reply": {"role": "assistant", "content": "40."}}

    def start() -> tuple[subprocess.Popen[str], str]:
        command = [sys.executable, "-P", "-m", "treadle", "record", "--listen", "0", "--to", provider]
        child = subprocess.Popen(command, env=environment(tmp_path), cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        assert child.stderr is not None
        return child, next(word for word in child.stderr.readline().split() if word.startswith("http"))

    async def states() -> list[RunState]:
        journal = open_journal(tmp_path / "journal.db")
        found = [fold(await journal.load(info.run_id)) for info in await journal.list()]
        await journal.aclose()
        return found

    def send(address: str, body: object) -> None:
        with urllib.request.urlopen(f"{address}/chat/completions", json.dumps(body).encode()) as answer:
            answer.read()

    child, address = start()
    try:
        send(address, first)
        eventually(lambda: [one for one in go(states()) if one.calls.open], "the first exchange is stored")
    finally:
        child.kill()
        child.communicate()
    child, address = start()
    try:
        send(address, second)
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=60)
    finally:
        child.kill()
        child.communicate()
    (state,) = go(states())
    assert [(step.tool, step.observation) for step in state.steps] == [("price", "40")]
    assert state.finished is not None
    assert state.finished.answer == "40."
