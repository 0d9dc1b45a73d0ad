"""The probe at first contact: a few small requests tell whether a model that nothing is known about can call tools.

It is a setting (`probe`), on in the terminal program. What was found out is kept, so that it happens once per model and
address; it never fails, and never takes long.
"""

from __future__ import annotations

import asyncio
import time

from msgspec import Struct

from treadle._models.base import Model, meet
from treadle._models.catalog.probe import Report, probe
from treadle._models.catalog.probed_profiles import load_probed_profile
from treadle._models.http_model import HttpModel
from treadle._safety.logs import get_logger
from treadle._types.errors import TreadleError

log = get_logger(__name__)
SECONDS = 90.0
"""For all requests together; a model on a slow machine is used untried."""
MAX_GIVEN_UP = 500
_given_up: set[tuple[str, str, str]] = set()
"""Those that could not be tried. It is not attempted again in this process."""


class Trial(Struct, frozen=True):
    report: Report
    elapsed: float

    def __str__(self) -> str:
        """In one line, without line breaks of the server's own."""
        report, native = self.report, self.report.dialect == "native"
        works = "native tool calls work" if native else f"no native tool calls, so calls are text ({report.dialect})"
        return f"first contact with {report.model} at {report.address}: {works}"


async def try_once(model: Model) -> Trial | None:
    """Try the model unless something is known about its calls; None when there was nothing to try."""
    await meet(model)
    if not isinstance(model, HttpModel) or not model.untried:
        return None
    key = (model.provider, model.name, model.address)
    if key in _given_up or load_probed_profile(*key) is not None:
        return None
    began = time.monotonic()
    report = await _report(model)
    if report is None or not report.answers or report.works("tool_call") is None:
        if len(_given_up) >= MAX_GIVEN_UP:
            _given_up.clear()
        _given_up.add(key)
        return None
    model.tried(report.probed_profile(), store=True)
    trial = Trial(report, time.monotonic() - began)
    log.info("%s", trial)
    return trial


async def _report(model: HttpModel) -> Report | None:
    try:
        async with asyncio.timeout(SECONDS):
            return await probe(model.with_every_ability(), model.profile, timeout=SECONDS, brief=True)
    except (TimeoutError, TreadleError) as error:  # it is a hint, not a condition
        log.debug("%s at %s could not be tried: %s", model.name, model.address, type(error).__name__)
        return None
