"""What was found out about models, kept for later runs: in this process, and in one file per model and address
in the user's state folder."""

from __future__ import annotations

import hashlib
import re
import time
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from treadle._safety.data import DataError, decode_json, read_text
from treadle._safety.logs import get_logger
from treadle._types.paths import state_folder, write_private
from treadle._types.profile import ABILITIES, DecisionThresholds, Profile

log = get_logger(__name__)
REFUSAL_DAYS = 7
"""After that a server that refused tools is offered them again: it may have been started with other options."""
MAX_LEARNT = 500


class ProbedProfile(Struct, frozen=True, omit_defaults=True):
    """What a probe found out about a model. No secrets: the address has no credentials."""

    provider: str
    model: str
    address: str
    dialect: Literal["native", "schema", "json"] | None = None
    """None: the usual choice for a model with these abilities."""
    abilities: dict[str, bool] = {}
    """Only those that were tried."""
    window: int | None = None
    accepts_temperature: bool | None = None
    probed: float = 0.0
    refused: bool = False
    """Not a probe: a request with tools was refused."""
    decide: tuple[DecisionThresholds, ...] = ()
    """As `treadle doctor --calibrate` found them, for the model with and without its tuning."""

    @property
    def holds(self) -> bool:
        return not self.refused or time.time() - self.probed < REFUSAL_DAYS * 86_400


_learnt: dict[tuple[str, str, str], ProbedProfile] = {}
"""What this process has found out, by provider, model and address."""


def remember(profile: ProbedProfile, *, store: bool) -> None:
    """Keep a result for the models of this process, and with `store` for later processes. A folder that cannot be
    written changes nothing: a run does not need it."""
    if len(_learnt) >= MAX_LEARNT:
        _learnt.clear()
    _learnt[profile.provider, profile.model, profile.address] = profile
    if store:
        try:
            save_probed_profile(profile)
        except (OSError, RuntimeError) as error:
            log.warning("what was found out about %s is not kept: %s", profile.model, error)


def keep_thresholds(thresholds: DecisionThresholds, provider: str, model: str, address: str) -> Path:
    """Store thresholds beside what else is known of a model; they replace those for the same tuning."""
    known = load_probed_profile(provider, model, address) or ProbedProfile(provider, model, address)
    return save_probed_profile(msgspec.structs.replace(known, decide=(thresholds,)))


def forget() -> None:
    """Only what is stored counts."""
    _learnt.clear()


def profile_path(provider: str, model: str, address: str) -> Path:
    """The file for one model; its name tells a person which model it is, the digest makes it unique."""
    digest = hashlib.sha256(f"{provider}\n{model}\n{address}".encode("utf-8", "replace")).hexdigest()[:12]
    shown = re.sub(r"[^A-Za-z0-9.]+", "-", f"{provider}-{model}").strip("-.")[:80]
    return state_folder() / "profiles" / f"{shown}-{digest}.json"


def save_probed_profile(profile: ProbedProfile) -> Path:
    """Store a result beside the thresholds that were found before."""
    profile = _with_thresholds(profile, _stored(profile.provider, profile.model, profile.address))
    path = profile_path(profile.provider, profile.model, profile.address)
    write_private(path, msgspec.json.format(msgspec.json.encode(profile), indent=2) + b"\n")
    return path


def load_probed_profile(provider: str, model: str, address: str) -> ProbedProfile | None:
    """Return what was found out last. A file that cannot be read is ignored with a warning: a run does not need it."""
    return _newest(_learnt.get((provider, model, address)), _stored(provider, model, address))


def _newest(*found: ProbedProfile | None) -> ProbedProfile | None:
    return max((one for one in found if one is not None and one.holds), key=lambda one: one.probed, default=None)


def _with_thresholds(profile: ProbedProfile, stored: ProbedProfile | None) -> ProbedProfile:
    """The profile, also with the thresholds that are stored. They were measured: neither another probe nor a refusal,
    nor the end of that, says anything against them."""
    earlier = () if stored is None else stored.decide
    others = [one for one in earlier if not any(one.hold_for(new) for new in profile.decide)]
    return msgspec.structs.replace(profile, decide=(*others, *profile.decide))


def _stored(provider: str, model: str, address: str) -> ProbedProfile | None:
    try:
        probed = decode_json(read_text(profile_path(provider, model, address)), ProbedProfile)
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError, DataError) as error:  # RuntimeError: a user without a home folder
        log.warning(
            "the stored profile of %s:%s cannot be used (%s); run treadle doctor to write a new one",
            provider,
            model,
            error,
        )
        return None
    return probed if (probed.provider, probed.model, probed.address) == (provider, model, address) else None


def with_probed_facts(profile: Profile, provider: str, model: str, address: str) -> Profile:
    """The profile, corrected by the result of a probe of this model at this address if there is one."""
    stored = _stored(provider, model, address)
    if stored is not None and (found := [one for one in stored.decide if one.hold_for(profile)]):
        profile = msgspec.structs.replace(profile, decide=found[-1])
    probed = _newest(_learnt.get((provider, model, address)), stored)
    if probed is None:
        return profile
    changes: dict[str, Any] = {name: works for name, works in probed.abilities.items() if name in ABILITIES}
    if probed.window is not None:
        changes["window"] = probed.window
    if probed.accepts_temperature is not None:
        changes["accepts_temperature"] = probed.accepts_temperature
    return profile.with_abilities(changes | {"dialect": probed.dialect})
