"""What is written down, what never is, and what happens when it cannot be."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from treadle._journal.memory import MemoryJournal
from treadle._record.exchange import MAX_STORED, HttpExchange, Memory
from treadle._record.process import RecorderProcess
from treadle._record.recorder import Recorder
from treadle._record.runs import RunWriter
from treadle._record.saving import TrafficFolder
from treadle._record.worker import End, Frame, Recording, frame_of, read_frame, write_frame
from treadle._types.errors import JournalError
from treadle.testing import load_traffic
from waiting import eventually

KEY = "made-up-key-0123456789"


def exchange(memory: Memory, *, request: bytes = b'{"q": 1}', response: bytes = b'{"a": 1}') -> HttpExchange:
    exchange = HttpExchange(
        memory, upstream="https://api.example/v1", method="POST", path="/v1/chat/completions", secrets=(KEY,)
    )
    exchange.keep_request(request)
    exchange.status, exchange.headers = 200, {"content-type": "application/json", "set-cookie": "session=1"}
    exchange.keep_response(response)
    exchange.end("complete")
    return exchange


def test_traffic_files_have_no_keys_and_are_whole(tmp_path: Path):
    memory, said = Memory(), list[str]()
    recorder = Recorder([TrafficFolder(tmp_path / "fixtures")], said.append)
    recorder(exchange(memory, request=json.dumps({"messages": [f"my key is {KEY}"]}).encode()))
    packed = exchange(memory, response=b"")
    packed.headers["content-encoding"] = "gzip"
    packed.ending, packed.received = "complete", [gzip.compress(f"echo {KEY}".encode())]
    recorder(packed)
    cut = exchange(memory)
    cut.ending = "cut"
    recorder(cut)
    recorder.close()
    assert list(recorder.missed) == ["its answer is not whole, and would be played as a whole one"]
    assert len(said) == 2
    file = tmp_path / "fixtures" / "api-example.jsonl"
    assert KEY not in file.read_text()
    assert "cookie" not in file.read_text()
    first, second = load_traffic(file)
    assert first.request == {"messages": ["my key is [redacted:key]"]}
    assert (first.path, first.body, second.body) == ("/v1/chat/completions", '{"a": 1}', "echo [redacted:key]")
    assert memory.held == 0
    assert file.stat().st_mode & 0o077 == 0


def test_what_nothing_was_written_of_is_not_counted_as_recorded(tmp_path: Path):
    memory, said = Memory(), list[str]()
    recorder = Recorder([RunWriter(MemoryJournal(), "program")], said.append)
    for path in ("/v1/embeddings", "/v1/completions", "/api/embed", "/api/embed"):
        other = exchange(memory)
        other.path = path
        recorder(other)
    recorder(exchange(memory, request=b'{"messages": ' + b"[" * 2000 + b"]" * 2000 + b"}"))
    recorder(exchange(memory, request=rb'{"messages": [{"role": "user", "content": "\ud800"}]}'))
    listed = exchange(memory)
    listed.method, listed.path = "GET", "/v1/models"
    recorder(listed)
    recorder.close()
    assert recorder.recorded == 0
    assert sum("is no request that becomes a run" in line for line in said[:-1]) == 3
    assert sum("no JSON that can be read" in line for line in said[:-1]) == 2
    assert "2 because .../embed is no request" in said[-1]
    assert recorder.missed.total() == 6


def test_a_server_that_was_not_reached_leaves_nothing_to_play(tmp_path: Path):
    said = list[str]()
    recorder = Recorder([TrafficFolder(tmp_path)], said.append)
    lost = exchange(Memory())
    lost.status, lost.ending = 0, "unreachable"
    recorder(lost)
    other = exchange(Memory())
    other.path = "/v1/embeddings"
    recorder(other)  # a file for tests takes it all the same
    recorder.close()
    assert recorder.recorded == 1
    assert "its answer is not whole" in said[0]


@pytest.mark.parametrize("count", [1, 40], ids=["few wait in the worker", "many wait in the proxy"])
def test_a_journal_that_another_process_holds_does_not_hold_up_the_end(
    count: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    where, said = tmp_path / "j.db", list[str]()
    with closing(sqlite3.connect(where, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        recorder = RecorderProcess(Recording("program", str(where), patience=0.5), said.append)
        for _ in range(count):
            recorder(exchange(Memory(), request=b'{"messages": [], "pad": "' + b"x" * 10_000 + b'"}'))
        recorder.close()
        assert other.in_transaction  # it did not wait for the other one
    assert "Does another process hold the journal?" in capfd.readouterr().err + "".join(said)


class Full:
    async def take(self, exchange: HttpExchange, clean: Callable[[str], str]) -> str:
        raise JournalError("the disk is full")

    async def close(self, *, ended: bool) -> None:
        raise RuntimeError("still")


def test_a_failing_journal_is_said_once_and_counted(tmp_path: Path):
    memory, said = Memory(), list[str]()
    recorder = Recorder([Full(), TrafficFolder(tmp_path)], said.append)
    for _ in range(3):
        recorder(exchange(memory))
    recorder.close()
    assert said[0] == ("an exchange was passed on but not recorded: the disk is full. The program is not affected")
    assert "3 because the disk is full" in said[-1]
    assert len(load_traffic(tmp_path / "api-example.jsonl")) == 3  # the others are not concerned
    assert memory.held == 0


def test_too_much_is_passed_and_not_kept():
    memory, said = Memory(), list[str]()
    recorder = Recorder([Full()], said.append)
    large = exchange(memory)
    large.keep_response(b"x" * MAX_STORED)
    assert memory.held == 0
    large.keep_response(b"more")
    recorder(large)
    recorder.close()
    assert "larger than 16 MiB" in said[0]
    assert not large.received


def test_a_worker_that_is_killed_is_said_and_the_proxy_goes_on(tmp_path: Path):
    memory, said = Memory(), list[str]()
    recorder = RecorderProcess(Recording("program", None, str(tmp_path / "saved")), said.append)
    recorder(exchange(memory))
    eventually(lambda: list(tmp_path.glob("saved/*")), "the first exchange is saved")
    os.kill(recorder.pid, signal.SIGKILL)

    def passes_on() -> bool:
        recorder(exchange(memory))
        return bool(said)

    eventually(passes_on, "the end of the worker is said")
    recorder.close()
    assert said[0] == "the recorder has ended: nothing more is recorded. The program is not affected"
    assert "because the recorder had ended" in said[-1]
    assert memory.held == 0


def test_frames_are_read_as_they_were_written(tmp_path: Path):
    one = exchange(Memory())
    file = tmp_path / "pipe"
    with file.open("wb") as pipe:
        write_frame(pipe, frame_of(one))
        write_frame(pipe, End())
    with file.open("rb") as pipe:
        frame = read_frame(pipe)
        assert isinstance(frame, Frame)
        again = frame.exchange()
        assert {n: v for n, v in again.__dict__.items() if n in Frame.__struct_fields__} == {
            n: v for n, v in one.__dict__.items() if n in Frame.__struct_fields__
        }
        assert read_frame(pipe) == End()
        assert read_frame(pipe) is None
    file.write_bytes(file.read_bytes()[:-1][:30])
    with file.open("rb") as pipe:
        assert read_frame(pipe) is None
