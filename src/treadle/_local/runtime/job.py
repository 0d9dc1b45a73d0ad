"""One request to a loaded model, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from treadle._local.runtime.forced import Alternatives, alternatives_of
from treadle._local.runtime.prompt import (
    NO_GUIDANCE,
    CompletionReader,
    constraint_of,
    prompt_items,
    tuning_settings,
    with_guidance,
)
from treadle._local.runtime.prompt_cache import shared_prefix_of
from treadle._local.runtime.runtime import ORIGIN, Runtime
from treadle._local.runtime.slots import Segment, Slot, owner_of
from treadle._models.openai.chat_reader import ChatReader
from treadle._models.transport.decision import OPTIONS, decision_point
from treadle._models.transport.wire import encode
from treadle._types.errors import ModelError
from treadle._types.profile import Profile
from treadle._types.request import Delta, Reply, Request, StreamPart

T = TypeVar("T")
MAX_TOKENS = 1024


class Asked(Protocol):
    """What a request has to know of its model."""

    @property
    def name(self) -> str: ...
    @property
    def profile(self) -> Profile: ...
    def with_defaults(self, request: Request) -> Request: ...
    def body(self, request: Request) -> bytes: ...


class Job:
    """One request in a thread of its own: it waits for a slot, decodes, and passes each part to the event loop."""

    def __init__(self, model: Asked, runtime: Runtime, request: Request, *, ahead: bool = False) -> None:
        self.parts: asyncio.Queue[StreamPart | Exception] = asyncio.Queue()
        self.stopping = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._runtime = runtime
        self._profile = model.profile
        self._name = model.name
        self._request = model.with_defaults(request)
        self._owner = owner_of(request)
        # The engine keeps appending to its list of messages: read it here, before another thread runs.
        self._body = model.body(self._request)
        self._ahead = ahead
        """Only the system prompt is read, for a request that will come."""
        self._failure: Exception | None = None

    def start(self) -> None:
        # With the model in this process never a daemon, which it would be by default in a daemon thread: interrupted
        # native code crashes the process. One that waits for another process must not hold up the end of this one.
        threading.Thread(target=self._run, name="treadle-local", daemon=self._runtime.isolated).start()

    def _run(self) -> None:
        try:
            reply = self._answer()
        except Exception as error:
            self._pass_on(error)
        else:
            if reply is not None:
                self._pass_on(reply)

    def _answer(self) -> Reply | None:
        runtime = self._runtime
        body = runtime.escape_control_tokens(self._body)
        # The runtime reads tool calls and thoughts in the model's own markup; other requests are plain completions.
        chat = bool(self._request.tools) or self._profile.reasoning
        if chat and self._ahead:
            return Reply()
        prompt = "" if chat else runtime.render(body)
        slot = runtime.slots.acquire(self._owner, prompt, self.stopping)
        if slot is None:
            return None
        answer = self._read_ahead if self._ahead else self._complete
        work = (lambda: self._chat(body, slot)) if chat else (lambda: answer(prompt, slot))
        try:
            return work()
        except ModelError as error:
            if not runtime.guided or NO_GUIDANCE not in str(error):
                raise
            runtime.guided, self._failure = False, None
            return work()
        finally:
            runtime.slots.release(slot)

    def _read_prefix(self, prompt: str, slot: Slot) -> int:
        """Have the system prompt in the slot before the rest: from the disk, or read and kept there. The number of
        tokens that were read."""
        cache, first = self._runtime.prompt_cache, next(iter(self._request.messages), None)
        text = shared_prefix_of(prompt, first) if cache is not None else ""
        if cache is None or not text or slot.shared_prefix(prompt) >= len(text):
            return 0
        if self._profile.adapter:  # a slot forgets its prompt when the adapter changes, also at its first request
            self._evaluate("\n", slot)
        slot.segments = ()
        if cache.restore(slot.id, text, self._request.tuned):
            return 0
        read = self._evaluate(text, slot)
        if read and not self._unwanted():
            cache.save(slot.id, text, self._request.tuned)
        return read

    def _read_ahead(self, prompt: str, slot: Slot) -> Reply | None:
        """Leave the system prompt in the slot, for the first request that begins with it."""
        self._read_prefix(prompt, slot)
        if self._unwanted():
            return None
        text = shared_prefix_of(prompt, next(iter(self._request.messages), None))
        if self._runtime.prompt_cache is not None and text:
            slot.segments = (Segment(text),)
            if self._request.format is not None:  # the first constraint of a process takes a second to set up
                self._evaluate(text, slot, constrained=True)
        return Reply()

    def _evaluate(self, text: str, slot: Slot, *, constrained: bool = False) -> int:
        """Read a text into a slot and write nothing."""
        reader = CompletionReader(ORIGIN, self._name, self._profile, None, 1)
        settings = {"prompt": text, "max_tokens": 0, "stream": True, **self._extra(slot, constrained=constrained)}
        self._runtime.complete(encode(settings), lambda chunk: self._on_chunk(reader, chunk, silent=True))
        if self._failure is not None:
            raise self._failure
        return 0 if self._unwanted() else reader.read

    def _complete(self, prompt: str, slot: Slot) -> Reply | None:
        request = self._request
        just_read = self._read_prefix(prompt, slot)
        segments = slot.split(prompt)
        settings: dict[str, Any] = {
            "prompt": prompt_items(segments),
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "stop": request.stop,
            "stream": True,
            "return_tokens": True,
            "verbose": True,
            **self._extra(slot),
        }
        point = None
        if request.decision_after:
            settings["n_probs"] = OPTIONS
            point = decision_point(request)
        if request.seed is not None:
            settings["seed"] = request.seed
        longest = request.max_tokens or MAX_TOKENS
        reader = CompletionReader(ORIGIN, self._name, self._profile, request.format, longest, point)
        slot.segments = segments
        alternatives = None if point is not None else self._alternatives()
        if alternatives is None:
            self._runtime.complete(encode(settings), lambda chunk: self._on_chunk(reader, chunk))
        else:
            self._write_pieces(settings, segments, reader, alternatives)
        reply = self._finish(reader, slot)
        if reply is not None and just_read:
            usage = reply.usage
            cached = max(0, usage.cached_tokens - just_read)
            reply = msgspec.structs.replace(reply, usage=msgspec.structs.replace(usage, cached_tokens=cached))
        if reply is not None and reader.tokens:
            slot.segments = (*segments, Segment(reader.written, reader.tokens))
        return reply

    def _alternatives(self) -> Alternatives | None:
        """The possible replies, where one is asked for in pieces: in the form that an adapter has learnt."""
        wanted = self._request.format
        if not self._request.tuned or not self._runtime.guided or self._request.stop:
            return None
        return None if wanted is None or wanted.schema is None else alternatives_of(with_guidance(wanted.schema))

    def _write_pieces(
        self,
        settings: dict[str, Any],
        segments: Sequence[Segment],
        reader: CompletionReader,
        alternatives: Alternatives,
    ) -> None:
        whole = False
        while (end := alternatives.certain()) is None:
            piece = alternatives.next()
            self._pass_all(reader.add(piece.certain))
            before = reader.written
            to_choose = piece.one_token and not whole
            settings["prompt"] = prompt_items((*segments, Segment(before)))
            settings["max_tokens"] = 1 if to_choose else (self._request.max_tokens or MAX_TOKENS) - reader.sampled
            settings["stop"] = [piece.stop] if piece.stop else []
            settings["grammar"] = piece.grammar
            reader.go_on()
            self._runtime.complete(encode(settings), lambda chunk: self._on_chunk(reader, chunk))
            if self._failure is not None or self._unwanted() or reader.needs_no_more:
                return
            if to_choose:
                text = reader.written[len(before) :]
                whole = not alternatives.chosen(text)
                if whole and text:
                    raise reader.not_enforced()
            elif reader.met_stop:
                self._pass_all(reader.add(piece.stop))
                alternatives.stopped()
            else:
                return
        self._pass_all(reader.add(end))
        reader.is_whole = True

    def _chat(self, body: bytes, slot: Slot) -> Reply | None:
        reader = ChatReader(ORIGIN, self._profile)
        slot.segments = ()
        body = body[:-1] + b"," + encode(self._extra(slot))[1:]
        self._runtime.chat(body, lambda chunk: self._on_chunk(reader, chunk))
        reply = self._finish(reader, slot)
        return None if reply is None else msgspec.structs.replace(reply, model=self._name)

    def _extra(self, slot: Slot, *, constrained: bool = True) -> dict[str, Any]:
        """Settings of chats and completions alike. A request can be stopped while its prompt is evaluated only because
        progress is reported."""
        extra: dict[str, Any] = {"id_slot": slot.id, "cache_prompt": True, "return_progress": True}
        if self._profile.adapter:
            extra.update(tuning_settings(self._request))
        if constrained and self._request.format is not None:
            extra.update(constraint_of(self._request.format, guided=self._runtime.guided))
        return extra

    def _on_chunk(self, reader: CompletionReader | ChatReader, chunk: bytes, *, silent: bool = False) -> bool:
        if self._unwanted():
            return True
        try:
            deltas = reader.feed(chunk)
        except Exception as error:
            self._failure = error  # the runtime would ignore it
            return True
        if isinstance(reader, CompletionReader) and reader.needs_no_more:
            return True
        return not silent and not self._pass_all(deltas)

    def _pass_all(self, deltas: Sequence[Delta]) -> bool:
        return not self._request.stream or all(map(self._pass_on, deltas))

    def _finish(self, reader: CompletionReader | ChatReader, slot: Slot) -> Reply | None:
        if self._failure is not None:
            raise self._failure
        if self._unwanted():
            return None
        reply = reader.reply()
        slot.size = reply.usage.total_tokens
        return reply

    def _unwanted(self) -> bool:
        """Return whether nothing waits for the reply any more. The interpreter waits for this thread at exit: it must
        end."""
        return self.stopping.is_set() or self._loop.is_closed() or not threading.main_thread().is_alive()

    def _pass_on(self, part: StreamPart | Exception) -> bool:
        try:
            self._loop.call_soon_threadsafe(self.parts.put_nowait, part)
        except RuntimeError:  # the loop is closed: nothing waits for the reply any more
            self.stopping.set()
            return False
        return True


async def in_thread(work: Callable[[], T], *, daemon: bool) -> T:
    """Like `asyncio.to_thread`, but without the thread pool for which a closing event loop waits."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # pyright: ignore[reportArgumentType] - without an error there is a result

    def run() -> None:
        outcome: tuple[T | None, BaseException | None]
        try:
            outcome = (work(), None)
        except BaseException as error:
            outcome = (None, error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing waits for the result
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=run, name="treadle-local-load", daemon=daemon).start()
    return await done
