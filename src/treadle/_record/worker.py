"""The process that writes exchanges down, so that the proxy has a Python of its own: reading a long conversation takes
milliseconds that nobody who waits for a piece of a stream should notice.

Exchanges come over its standard input, one frame each. It ends when it is told to, with every run ended; if its input
ends before that, the proxy was killed: then runs stay open, for the next recorder to go on with.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from treadle._record.exchange import PATIENCE, Ending, HttpExchange, Memory

MODULE = "treadle._record.worker"


class Recording(Struct, frozen=True, tag="recording"):
    """The settings of the worker, which are its first frame."""

    agent: str
    journal: str | None = None
    """As `open_journal` reads it; "" for the user's own, None for nowhere."""
    save: str = ""
    """A folder for traffic files."""
    quiet: bool = False
    patience: float = PATIENCE


class Frame(Struct, frozen=True, tag="exchange"):
    """An exchange on its way to the worker."""

    upstream: str
    method: str
    path: str
    secrets: tuple[str, ...]
    request_encoding: str
    began: float
    elapsed: float
    status: int
    headers: dict[str, str]
    sent: list[bytes]
    received: list[bytes]
    marks: list[tuple[int, float]]
    ending: Ending
    not_stored: str

    def exchange(self) -> HttpExchange:
        one = HttpExchange(_FREE, upstream=self.upstream, method=self.method, path=self.path, secrets=self.secrets)
        one.request_encoding, one.began, one.status = self.request_encoding, self.began, self.status
        one.headers, one.sent, one.received, one.marks = self.headers, self.sent, self.received, self.marks
        one.ending, one.elapsed, one.not_stored = self.ending, self.elapsed, self.not_stored
        return one


class End(Struct, frozen=True, tag="end"):
    """Nothing more passes."""


_FREE = Memory()
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Recording | Frame | End)


def frame_of(exchange: HttpExchange) -> Frame:
    return Frame(**{name: getattr(exchange, name) for name in Frame.__struct_fields__})


def write_frame(pipe: IO[bytes], frame: Recording | Frame | End) -> None:
    data = _encoder.encode(frame)
    pipe.write(len(data).to_bytes(8, "big") + data)
    pipe.flush()


def read_frame(pipe: IO[bytes]) -> Recording | Frame | End | None:
    """None when the other side has gone."""
    size = pipe.read(8)
    data = pipe.read(int.from_bytes(size, "big")) if len(size) == 8 else b""
    return _decoder.decode(data) if data and len(data) == int.from_bytes(size, "big") else None


def say(text: str) -> None:
    with suppress(OSError, ValueError):  # nobody may be listening any more
        print(f"treadle record: {text}", file=sys.stderr, flush=True)


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # they are for the program; the proxy says when it is over
        signal.signal(number, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(5)
    from treadle._journal import open_journal
    from treadle._record.recorder import Recorder, Sink
    from treadle._record.runs import RunWriter
    from treadle._record.saving import TrafficFolder

    pipe = sys.stdin.buffer
    recording = read_frame(pipe)
    if not isinstance(recording, Recording):
        return
    sinks: list[Sink] = [TrafficFolder(Path(recording.save))] if recording.save else []
    if recording.journal is not None:
        sinks.append(RunWriter(open_journal(recording.journal or None), recording.agent))
    recorder = Recorder(sinks, say)
    last: Recording | Frame | End | None = None
    with suppress(OSError):
        while isinstance(last := read_frame(pipe), Frame):
            recorder(last.exchange())
            recorder.wait_below(_WAITING)
    done = recorder.close(seconds=60.0, ended=isinstance(last, End), patience=recording.patience)
    if not recording.quiet:
        say(f"{recorder.recorded} exchange{'' if recorder.recorded == 1 else 's'} recorded")
    if not done:
        os._exit(1)  # a thread that waits for a locked journal would hold up the end of the program that was recorded


_WAITING = 8
"""Exchanges that wait here; the others wait in the proxy, which counts their bytes."""

if __name__ == "__main__":
    main()
