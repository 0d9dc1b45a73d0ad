"""A model on this machine: llama.cpp with constrained decoding, and prompts of which only the new part is evaluated."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from treadle._local.runtime.job import MAX_TOKENS, Job, in_thread
from treadle._local.runtime.prompt_cache import folder
from treadle._local.runtime.runtime import Options, Runtime, cores
from treadle._local.runtime.shared import load
from treadle._local.thresholds import with_thresholds
from treadle._local.weights import weights
from treadle._local.weights.adapters import adapter_for, unpacked
from treadle._local.weights.gguf import parameters_of
from treadle._local.weights.hub import parse
from treadle._models.base import Closing
from treadle._models.catalog.probed_profiles import with_probed_facts
from treadle._models.catalog.profiles import parameters_in
from treadle._models.catalog.providers import FREE, provider_named
from treadle._models.openai.chat_wire import ChatWriter
from treadle._models.transport.wire import encoded_messages
from treadle._safety.bounds import Count, NotNegative, Whole, bounded
from treadle._types.errors import ConfigError, MissingExtraError
from treadle._types.profile import TINY_BELOW, Profile
from treadle._types.request import Reply, Request, StreamPart

TINY = 700_000_000
"""Bytes. A smaller file has less than a billion parameters, unless it is one part of several."""


class LocalModel(Closing):
    """A GGUF model by name (downloaded on first use) or path. It is loaded at the first request, once per process.

    `n_ctx` is the window of a conversation, `slots` how many keep their evaluated prompt. `isolated`: in a process of
    its own, as a server needs it. `adapter`: that of `treadle-adapters` (True), a GGUF file, or none. With
    `keep_prompts` evaluated system prompts are kept in the cache folder.
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
        self._profile = with_probed_facts(with_thresholds(facts), "local", self._name, self.address).with_abilities(
            dict(abilities or {})
        )
        self._options = Options("", n_ctx, threads or cores(), slots, batch, isolated)
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
        """Return whether `load` will download it first, which shows its own progress."""
        return weights.find(self._source) is None

    def isolate(self, warm_seconds: float = 0.0) -> None:
        """Put the model into a process of its own, unless it is loaded already. With `warm_seconds` it stays loaded
        there for the next process that asks for it within this time."""
        if self._runtime is None:
            self._options = msgspec.structs.replace(self._options, isolated=True, warm_seconds=warm_seconds)

    async def read_ahead(self, request: Request) -> None:
        """Load the model and read the system prompt of a request that will come. Nothing is written."""
        async with contextlib.aclosing(self._stream(request, ahead=True)) as parts:
            async for _ in parts:
                pass

    async def stream(self, request: Request) -> AsyncGenerator[StreamPart]:
        async with contextlib.aclosing(self._stream(request)) as parts:
            async for part in parts:
                yield part

    async def _stream(self, request: Request, *, ahead: bool = False) -> AsyncGenerator[StreamPart]:
        job = Job(self, await self._ready(), request, ahead=ahead)
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
        """Release the loaded model."""
        self._runtime = None

    async def _ready(self) -> Runtime:
        if self._runtime is None or not self._runtime.alive:
            # Ctrl-C must not wait for a download, but an interrupted load would crash the process.
            path = await in_thread(lambda: weights.ensure(self._source), daemon=True)
            adapter = await in_thread(lambda: unpacked(self._adapter), daemon=True)
            options = msgspec.structs.replace(
                self._options,
                path=str(path.resolve()),
                adapter=adapter,
                prompt_folder=folder() if self._keep_prompts else "",
            )
            await in_thread(lambda: self._attach(load(options)), daemon=options.isolated)
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
