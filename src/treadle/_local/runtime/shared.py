"""Loads each model once per process and options, and closes all of them at exit and after a fork."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import threading
from weakref import WeakValueDictionary

from treadle._local.runtime.runtime import InProcess, Options, Runtime
from treadle._local.runtime.warm import attach
from treadle._local.runtime.worker import Isolated
from treadle._types.errors import ModelError

_loaded: WeakValueDictionary[Options, Runtime] = WeakValueDictionary()
_lock = threading.Lock()
_hooks_registered = False
_forked = False


def load(options: Options) -> Runtime:
    """The runtime for these options; loads the model unless it is already loaded. Blocks: call it in a thread."""
    global _hooks_registered
    with _lock:
        if _forked and not options.isolated:
            raise ModelError(
                "local: this process was forked from one that had loaded a local model, and llama.cpp's threads do not "
                "survive that; start processes with the 'spawn' method, load the model only in the child, "
                "or use isolated=True",
                provider="local",
            )
        if not _hooks_registered:
            _hooks_registered = True
            atexit.register(_close_all)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=_after_fork)
        runtime = _loaded.get(options)
        if runtime is None or not runtime.alive:
            runtime = _loaded[options] = _open(options)
        return runtime


def _open(options: Options) -> Runtime:
    if not options.isolated:
        return InProcess(options)
    return (attach(options) if options.warm_seconds else None) or Isolated(options)


def _close_all() -> None:
    for runtime in list(_loaded.values()):
        runtime.close()


def _after_fork() -> None:
    global _forked, _lock
    _lock = threading.Lock()
    inside = [runtime for runtime in _loaded.values() if isinstance(runtime, InProcess)]
    for runtime in inside:
        runtime.leak()
    if inside:
        _forked = True
        # At the child's exit, destructors of the native library would wait for threads that it does not have: exit
        # before they run.
        with contextlib.suppress(AttributeError, OSError):
            libc = ctypes.CDLL(None)
            libc.on_exit(libc._exit, None)
