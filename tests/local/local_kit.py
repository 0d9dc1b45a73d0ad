"""The smallest real model, loaded once for all tests that need one."""

from __future__ import annotations

import functools
import importlib.util

import pytest

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
def shared() -> LocalModel:
    need_model()
    return LocalModel(SMALL, n_ctx=2048, slots=2, max_tokens=64, keep_prompts=False, threads=1)
