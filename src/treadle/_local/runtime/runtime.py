"""llama.cpp with one loaded model: what a runtime offers, and the one in the memory of this process."""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import importlib
import os
import re
import secrets
from collections.abc import Callable, Generator
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from treadle._local.runtime.cpu_code import exchange
from treadle._local.runtime.prompt import MARKUP
from treadle._local.runtime.prompt_cache import PromptCache
from treadle._local.runtime.slots import Slots
from treadle._models.transport.failures import Origin, connection_lost, error_for_status
from treadle._models.transport.wire import encode
from treadle._types.errors import MissingExtraError, ModelError

_HEALTH_SECONDS = 2.0
ORIGIN = Origin("local", "this machine")
CPU_BATCH = 32
GPU_BATCH = 512
OnChunk = Callable[[bytes], bool]
"""Called with each chunk of a reply; returning True stops the model."""


class Options(Struct, frozen=True):
    path: str
    n_ctx: int
    """The window of each slot."""
    threads: int
    slots: int
    batch: int | None
    """How many tokens are evaluated at once; a request can be stopped only between two batches."""
    isolated: bool = False
    """Whether the model runs in a process of its own."""
    adapter: str = ""
    """The path of an adapter; requests say whether it is used."""
    prompt_folder: str = ""
    """The folder of evaluated prompts; empty: none are stored."""
    warm_seconds: float = 0.0
    """For how long the process of its own keeps it when this one has ended."""


class Runtime:
    """One loaded model. Its memory is freed when nothing refers to it any more."""

    def __init__(self, options: Options, address: str, key: str) -> None:
        self.slots = Slots(options.slots)
        self.isolated = options.isolated
        self.guided = True
        """Whether it has the better of two constraint engines, which a build from source may lack."""
        url = urlsplit(address)
        self._address = (url.hostname or "127.0.0.1", url.port or 80)
        self._key = key
        folder = options.prompt_folder
        self.prompt_cache = PromptCache(folder, _made_by(options), self._post) if folder else None
        self._is_control: dict[str, bool] = {}
        """Texts that look like control tokens -> whether they are."""
        self._broken = False

    @property
    def alive(self) -> bool:
        raise NotImplementedError

    def complete(self, body: bytes, on_chunk: OnChunk) -> None:
        """Run a completion and pass each chunk to `on_chunk`."""
        raise NotImplementedError

    def chat(self, body: bytes, on_chunk: OnChunk) -> None:
        """The same for a chat, in which the runtime itself reads tool calls and thoughts."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def render(self, body: bytes) -> str:
        """The prompt that the model's chat template makes of a request."""
        return self._post("/apply-template", body)["prompt"]

    def escape_control_tokens(self, body: bytes) -> bytes:
        """`body` with control tokens in its texts broken up: no message can end its own turn and speak for another."""
        text = body.decode()
        return MARKUP.sub(self._escaped, text).encode() if MARKUP.search(text) else body

    def _escaped(self, match: re.Match[str]) -> str:
        text = match[0]
        if text not in self._is_control:
            content = {"content": text, "add_special": False}
            special, plain = (
                self._post("/tokenize", encode({**content, "parse_special": parse})) for parse in (True, False)
            )
            self._is_control[text] = special != plain
        return f"{text[:-1]} {text[-1]}" if self._is_control[text] else text

    def _post(self, path: str, body: bytes) -> Any:
        """The result of a request to the loopback port, for what the binding lacks. Only this process has its key."""
        with self._posted(path, body, timeout=60.0) as response:
            return msgspec.json.decode(response.read())

    @contextlib.contextmanager
    def _posted(self, path: str, body: bytes, timeout: float | None) -> Generator[http.client.HTTPResponse]:
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        try:
            with contextlib.closing(http.client.HTTPConnection(*self._address, timeout=timeout)) as connection:
                connection.request("POST", path, body, headers)
                response = connection.getresponse()
                if response.status != 200:
                    raise error_for_status(ORIGIN, response.status, {}, response.read())
                yield response
        except (OSError, http.client.HTTPException) as error:
            self._broken = True
            raise connection_lost(
                ORIGIN, f"the connection to the runtime was lost ({error or type(error).__name__})"
            ) from error


def answers(address: str, key: str) -> bool:
    """Return whether a model that another process has loaded is still there, under this key."""
    url = urlsplit(address)
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=_HEALTH_SECONDS)
    try:
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {key}"})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class InProcess(Runtime):
    """The model in the memory of this process; callbacks run on the thread of the request."""

    def __init__(self, options: Options) -> None:
        key = secrets.token_urlsafe(24)
        self._server: Any = serve(options, key)
        super().__init__(options, str(self._server.listening_address), key)

    @property
    def alive(self) -> bool:
        return self._server is not None

    def complete(self, body: bytes, on_chunk: OnChunk) -> None:
        self._running().handle_completions(body, on_chunk)

    def chat(self, body: bytes, on_chunk: OnChunk) -> None:
        self._running().handle_chat_completions(body, on_chunk)

    def close(self) -> None:
        self._server = None

    def leak(self) -> None:
        """Keep the server from ever being destroyed: after a fork its threads are gone, and it would wait for them."""
        if self._server is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._server))
            self._server = None

    def _running(self) -> Any:
        if self._server is None:
            raise ModelError("local: the model was closed while a request was running", provider="local")
        return self._server


def library() -> Any:
    """The llama.cpp binding, imported when a model is first used."""
    # Idle OpenMP threads must not spin, which would slow down a busy machine. To be set before the library is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    try:
        binding = importlib.import_module("xllamacpp")
        exchange(binding)
        return binding
    except ModuleNotFoundError as error:
        raise MissingExtraError("the local model", "local") from error
    except ImportError as error:
        raise ModelError(f"local: xllamacpp is installed but cannot be imported: {error}", provider="local") from error


def serve(options: Options, key: str) -> Any:
    """Load the model. The binding holds the interpreter lock meanwhile: no other Python code runs."""
    _check(options.path)
    params = library().CommonParams()
    params.model.path = options.path
    params.n_parallel = options.slots
    params.n_ctx = options.n_ctx * options.slots
    on_cpu = _on_cpu()
    # Small on a CPU, so that a request stops soon; large for a GPU, which would be idle otherwise.
    params.n_batch = params.n_ubatch = options.batch or (CPU_BATCH if on_cpu else GPU_BATCH)
    # It finds out how many layers a GPU has room for by loading the model twice.
    params.fit_params = not on_cpu
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.warmup = False
    params.verbosity = -1
    params.ctx_shift = False
    # The slots are the cache of prompts; a second one in the host's memory would only take space.
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    params.api_keys = [key]
    params.ui = False
    params.endpoint_slots = False
    params.n_threads_http = options.slots + 2
    params.endpoint_metrics = True
    if options.prompt_folder:
        params.slot_save_path = os.path.join(options.prompt_folder, "")
    if options.adapter:
        add_adapter(params, options.adapter)
    try:
        server = library().Server(params)
        # Any request will do: a server that is destroyed before its main loop has begun never ends.
        server.handle_metrics()
        return server
    except RuntimeError as error:
        raise ModelError(
            f"local: {options.path} cannot be loaded: it is damaged, not supported by this version of llama.cpp, or "
            "too large for the memory. Delete it to have it downloaded again, or use a smaller model, n_ctx or slots",
            provider="local",
        ) from error


def add_adapter(params: Any, path: str) -> None:
    """Have the adapter in this file loaded with the model."""
    adapter = library().CommonAdapterLoraInfo()
    adapter.path, adapter.scale = path, 1.0
    params.lora_adapters = [adapter]


def _made_by(options: Options) -> str:
    """Return what an evaluated prompt depends on: the files of model and adapter, and the runtime."""
    binding = library()
    version = f"{getattr(binding, '__version__', '')} {exchange(binding)}".strip()
    files = [f"{path} {os.path.getsize(path)}" for path in (options.path, options.adapter) if os.path.isfile(path)]
    return "\n".join([str(version), *files])


def _check(path: str) -> None:
    try:
        with open(path, "rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ModelError(f"local: cannot read {path}: {error.strerror}", provider="local") from error
    if magic != b"GGUF":
        raise ModelError(
            f"local: {path} is not a GGUF file; delete it if Treadle downloaded it, or name another", provider="local"
        )


def _on_cpu() -> bool:
    kinds = {str(device["type"].name) for device in library().get_device_info()}
    return all("CPU" in kind or "ACCEL" in kind for kind in kinds)


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
