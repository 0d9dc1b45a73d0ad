"""What a probe found out about a model at one address, kept for later runs: one small file each in the user's state folder."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from treadle._types.paths import state_folder
from treadle._types.profile import ABILITIES, Profile

log = logging.getLogger(__name__)


class Known(Struct, frozen=True, omit_defaults=True):
    """Facts, no secrets: the address is kept without credentials."""

    provider: str
    model: str
    address: str
    dialect: Literal["native", "schema", "json"]
    abilities: dict[str, bool] = {}
    """Only those that were really tried."""
    window: int | None = None
    accepts_temperature: bool | None = None
    probed: float = 0.0


def file_of(provider: str, model: str, address: str) -> Path:
    """The place for one model; the name tells a person which it is, the digest keeps two apart."""
    digest = hashlib.sha256(f"{provider}\n{model}\n{address}".encode("utf-8", "replace")).hexdigest()[:12]
    shown = re.sub(r"[^A-Za-z0-9.]+", "-", f"{provider}-{model}").strip("-.")[:80]
    return state_folder() / "profiles" / f"{shown}-{digest}.json"


def remember(known: Known) -> Path:
    """Store what was found; a reader never sees half a file."""
    path = file_of(known.provider, known.model, known.address)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_suffix(f".{os.getpid()}.tmp")
    fresh.write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=2) + b"\n")
    fresh.replace(path)
    return path


def recall(provider: str, model: str, address: str) -> Known | None:
    """What an earlier probe found. A file that cannot be read is as good as none: a run does not depend on it."""
    try:
        known = msgspec.json.decode(file_of(provider, model, address).read_bytes(), type=Known)
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError, msgspec.MsgspecError, UnicodeError) as error:  # RuntimeError: a user without a home
        log.warning(
            "the stored profile of %s:%s cannot be used (%s): treadle doctor writes a new one", provider, model, error
        )
        return None
    return known if (known.provider, known.model, known.address) == (provider, model, address) else None


def as_probed(profile: Profile, provider: str, model: str, address: str) -> Profile:
    """The profile with what a probe of this very model at this very address has found."""
    known = recall(provider, model, address)
    if known is None:
        return profile
    changes: dict[str, Any] = {name: works for name, works in known.abilities.items() if name in ABILITIES}
    if known.window is not None:
        changes["window"] = known.window
    if known.accepts_temperature is not None:
        changes["accepts_temperature"] = known.accepts_temperature
    return profile.with_abilities(changes | {"dialect": known.dialect})
