"""The smallest real model, and one made of it for all tests to which it does not matter what a model says."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import shutil
import tempfile
from pathlib import Path

import pytest

from local.short_gguf import shorten
from treadle._local.model import LocalModel
from treadle._local.weights import weights
from treadle._types.errors import ModelError

SMALL = "smollm2-135m"
SECONDS = 300.0
"""A guard against hanging only: beside other work a model may be many times slower than alone."""
GUARD = pytest.mark.timeout(2 * SECONDS)


@functools.cache
def reason_to_skip() -> str:
    if importlib.util.find_spec("xllamacpp") is None:
        return 'needs the local model: pip install "treadle[local]"'
    try:
        weights.ensure(SMALL)
    except ModelError as error:
        return f"{SMALL} cannot be downloaded: {error}"
    return ""


def need_model() -> None:
    if reason := reason_to_skip():
        pytest.skip(reason)


@functools.cache
def short() -> str:
    """The path of the smallest model with its first two and its last two layers."""
    need_model()
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shorten(weights.ensure(SMALL), folder / f"{SMALL}.gguf", [0, 1, 28, 29])
    return str(folder / f"{SMALL}.gguf")


@functools.cache
def sensible() -> LocalModel:
    """The smallest model as it is, loaded once."""
    need_model()
    return LocalModel(SMALL, n_ctx=2048, slots=2, max_tokens=64, keep_prompts=False, threads=1)


@functools.cache
def shared() -> LocalModel:
    """The short model, loaded once."""
    return LocalModel(short(), n_ctx=2048, slots=2, max_tokens=64, keep_prompts=False, threads=1)
