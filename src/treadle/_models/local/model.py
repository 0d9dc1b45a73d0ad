"""A model on this machine: llama.cpp with constrained decoding, and prompts of which only the new part is evaluated."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from treadle._models.base import Closing
from treadle._models.catalog.probed_profiles import with_probed_facts
from treadle._models.catalog.providers import FREE, provider_named
from treadle._models.catalog.sizes import parameters_in
from treadle._models.catalog.thresholds import with_thresholds
from treadle._models.local import weights
from treadle._models.local.adapters import adapter_for, unpacked
from treadle._models.local.gguf import parameters_of
from treadle._models.local.hub import parse
from treadle._models.local.kept import beginning, folder
from treadle._models.local.prompt import NO_GUIDANCE, CompletionReader, constraint_of, prompt_items
from treadle._models.local.runtime import ORIGIN, Options, Runtime
from treadle._models.local.shared import load
from treadle._models.local.slots import Segment, Slot, owner_of
from treadle._models.openai.chat_reader import ChatReader
from treadle._models.openai.chat_wire import ChatWriter, adapter_scale
from treadle._models.transport.decision import OPTIONS, DecisionPoint
from treadle._models.transport.wire import encode, encoded_messages
from treadle._safety.bounds import Count, NotNegative, Whole, bounded
from treadle._types.errors import ConfigError, MissingExtraError, ModelError
from treadle._types.profile import TINY_BELOW, Profile
from treadle._types.request import Reply, Request, StreamPart

T = TypeVar("T")
MAX_TOKENS = 1024
TINY = 700_000_000
"""Bytes. A smaller file has less than a billion parameters, unless it is one part of several."""


class LocalModel(Closing):
    """A GGUF model by name (downloaded on first use) or path. It is loaded at the first request, once per process.

    `n_ctx` is the window of every conversation, `slots` how many conversations keep their evaluated prompt at the
    same time (each takes memory for a whole window). `isolated` puts the model into a process of its own: no other
    Python code of a process can run while the binding loads a model, which a server cannot afford. For a model that
    makes native tool calls, set `abilities={"tool_call": True}`. `adapter` is what the model was taught about using
    tools (`training/`): the package's own for this model if it has one (True), a GGUF file, or none (False). Answers
    that need no tool still come from the model without it. With `keep_prompts` evaluated system prompts are kept in the
    cache folder: the next process does not read them again.
    """

    @bounded
    def __init__(
        self,
        model: str | os.PathLike[str] = weights.DEFAULT,
        *,
        n_ctx: Count = 8192,
        threads: Count | None = None,
        slots: int = 3,
        batch: Count | None = None,
        temperature: NotNegative = 0.0,
        seed: Whole | None = None,
        max_tokens: Count = MAX_TOKENS,
        isolated: bool = False,
        adapter: str | os.PathLike[str] | bool | None = True,
        keep_prompts: bool = True,
        abilities: Mapping[str, Any] | None = None,
    ) -> None:
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingExtraError("the local model", "local")
        if n_ctx < 256 or slots < 1 or (threads or 1) < 1 or (batch or 1) < 1 or max_tokens < 1:
            raise ConfigError("LocalModel needs n_ctx >= 256, and slots, threads, batch and max_tokens >= 1")
        self._source = weights.source_of(os.fspath(model))
        here = weights.find(self._source) if weights.is_hub(self._source) else None
        named = not weights.is_path(self._source) and not weights.is_hub(self._source)
        if weights.is_hub(self._source):
            self._name, self.address = parse(self._source).stem, str(here or "")
        else:
            self._name = weights.catalogue_entry(self._source).name if named else Path(self._source).stem
            self.address = "" if named else str(Path(self._source).expanduser().resolve())
        size = (
            weights.catalogue_entry(self._source).size
            if named
            else os.path.getsize(self.address)
            if os.path.isfile(self.address)
            else TINY
        )
        parameters = parameters_of(Path(self.address)) if os.path.isfile(self.address) else parameters_in(self._name)
        trained = adapter_for(self._name if named else "", adapter)
        tiny = size < TINY if parameters is None else parameters < TINY_BELOW
        facts = Profile(
            json_mode=True,
            json_schema=True,
            grammar=True,
            logprobs=True,
            window=n_ctx,
            prices=FREE,
            vision=False,
            documents=False,
            audio=False,
            tiny=tiny and trained is None,  # what a tiny model needs, it has learnt
            parameters=parameters,
            adapter=trained.name if trained is not None else "",
        )
        facts = with_thresholds(facts, self._name)
        self._profile = with_probed_facts(facts, "local", self._name, self.address).with_abilities(
            dict(abilities or {})
        )
        self._options = Options("", n_ctx, threads or _cpus(), slots, batch, isolated)
        self._keep_prompts = keep_prompts
        self._adapter = trained
        self._temperature = temperature
        self._seed = seed
        self._max_tokens = max_tokens
        self._writer = ChatWriter(self._name, provider_named("llamacpp"), self._profile, {})
        self._runtime: Runtime | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def provider(self) -> str:
        return "local"

    @property
    def profile(self) -> Profile:
        return self._profile

    def __repr__(self) -> str:
        return f"LocalModel({self._source!r})"

    async def load(self) -> None:
        """Download and load the model now instead of at the first request."""
        await self._ready()

    @property
    def needs_download(self) -> bool:
        """Whether `load` will download it first, which shows its own progress."""
        return weights.find(self._source) is None

    async def stream(self, request: Request) -> AsyncGenerator[StreamPart]:
        job = _Job(self, await self._ready(), request)
        job.start()
        try:
            while True:
                part = await job.parts.get()
                if isinstance(part, Exception):
                    raise part
                yield part
                if isinstance(part, Reply):
                    return
        finally:
            job.stopping.set()

    async def aclose(self) -> None:
        """Release the loaded model; its memory is freed when no other model object uses it."""
        self._runtime = None

    async def _ready(self) -> Runtime:
        if self._runtime is None or not self._runtime.alive:
            # Ctrl-C must not wait for a download, but an interrupted load would crash the process.
            path = await _in_thread(lambda: weights.ensure(self._source), daemon=True)
            taught = await _in_thread(lambda: unpacked(self._adapter), daemon=True)
            kept = folder() if self._keep_prompts else ""
            options = msgspec.structs.replace(self._options, path=str(path.resolve()), adapter=taught, kept=kept)
            await _in_thread(lambda: self._attach(load(options)), daemon=False)
        assert self._runtime is not None
        return self._runtime

    def _attach(self, runtime: Runtime) -> None:
        # Not through the future, which would keep it alive as long as the event loop keeps the future.
        self._runtime = runtime

    def with_defaults(self, request: Request) -> Request:
        """The request with this model's settings where it has none."""
        return request.replace(
            temperature=self._temperature if request.temperature is None else request.temperature,
            max_tokens=self._max_tokens if request.max_tokens is None else request.max_tokens,
            seed=self._seed if request.seed is None else request.seed,
        )

    def body(self, request: Request) -> bytes:
        """The body of a chat request, without the format: the runtime gets that as a grammar."""
        return self._writer.body(request.replace(format=None), encoded_messages(request, self, "local"), True)


class _Job:
    """One request in a thread of its own: it waits for a slot, decodes, and passes each part to the event loop."""

    def __init__(self, model: LocalModel, runtime: Runtime, request: Request) -> None:
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
        self._failure: Exception | None = None

    def start(self) -> None:
        # Never a daemon, which it would be by default in a daemon thread: interrupted native code crashes the process.
        threading.Thread(target=self._run, name="treadle-local", daemon=False).start()

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
        prompt = "" if chat else runtime.render(body)
        slot = runtime.slots.acquire(self._owner, prompt, self.stopping)
        if slot is None:
            return None
        work = (lambda: self._chat(body, slot)) if chat else (lambda: self._complete(prompt, slot))
        try:
            return work()
        except ModelError as error:
            if not runtime.guided or NO_GUIDANCE not in str(error):
                raise
            runtime.guided, self._failure = False, None
            return work()
        finally:
            runtime.slots.release(slot)

    def _read_beginning(self, prompt: str, slot: Slot) -> int:
        """Have the system prompt in the slot before the rest: from the disk, or read and kept there. The number of
        tokens that were read."""
        kept, first = self._runtime.kept, next(iter(self._request.messages), None)
        text = beginning(prompt, first) if kept is not None else ""
        if kept is None or not text or slot.shared_prefix(prompt) >= len(text):
            return 0
        if self._profile.adapter:  # a slot forgets its prompt when the adapter changes, also at its first request
            self._evaluate("\n", slot)
        slot.segments = ()
        if kept.restore(slot.id, text, self._request.tuned):
            return 0
        read = self._evaluate(text, slot)
        if read and not self._unwanted():
            kept.save(slot.id, text, self._request.tuned)
        return read

    def _evaluate(self, text: str, slot: Slot) -> int:
        """Read a text into a slot and write nothing."""
        reader = CompletionReader(ORIGIN, self._name, self._profile, None, 1)
        settings = {"prompt": text, "max_tokens": 0, "stream": True, **self._extra(slot, constrained=False)}
        self._runtime.complete(encode(settings), lambda chunk: self._on_chunk(reader, chunk, silent=True))
        if self._failure is not None:
            raise self._failure
        return 0 if self._unwanted() else reader.read

    def _complete(self, prompt: str, slot: Slot) -> Reply | None:
        request = self._request
        just_read = self._read_beginning(prompt, slot)
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
            point = DecisionPoint(request.decision_after, request.answer_from)
        if request.seed is not None:
            settings["seed"] = request.seed
        reader = CompletionReader(
            ORIGIN,
            self._name,
            self._profile,
            request.format,
            request.max_tokens or MAX_TOKENS,
            point,
        )
        slot.segments = segments
        self._runtime.complete(encode(settings), lambda chunk: self._on_chunk(reader, chunk))
        reply = self._finish(reader, slot)
        if reply is not None and just_read:
            usage = reply.usage
            cached = max(0, usage.cached_tokens - just_read)
            reply = msgspec.structs.replace(reply, usage=msgspec.structs.replace(usage, cached_tokens=cached))
        if reply is not None and reader.tokens:
            slot.segments = (*segments, Segment(reader.written, reader.tokens))
        return reply

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
            extra["lora"] = adapter_scale(self._request)
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
        if isinstance(reader, CompletionReader) and reader.broken_off:
            return True
        return self._request.stream and not silent and not all(map(self._pass_on, deltas))

    def _finish(self, reader: CompletionReader | ChatReader, slot: Slot) -> Reply | None:
        if self._failure is not None:
            raise self._failure
        if self._unwanted():
            return None
        reply = reader.reply()
        slot.size = reply.usage.total_tokens
        return reply

    def _unwanted(self) -> bool:
        """Whether nothing waits for the reply any more. The interpreter waits for this thread at exit: it must end."""
        return self.stopping.is_set() or self._loop.is_closed() or not threading.main_thread().is_alive()

    def _pass_on(self, part: StreamPart | Exception) -> bool:
        try:
            self._loop.call_soon_threadsafe(self.parts.put_nowait, part)
        except RuntimeError:  # the loop is closed: nothing waits for the reply any more
            self.stopping.set()
            return False
        return True


async def _in_thread(work: Callable[[], T], *, daemon: bool) -> T:
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


def _cpus() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
