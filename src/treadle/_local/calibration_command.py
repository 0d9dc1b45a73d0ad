"""The part of `treadle doctor` that calibrates a model: its options, and what it prints."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from treadle._types.errors import ConfigError

if TYPE_CHECKING:  # the help of the command does not need it
    from treadle._local.calibration import Calibration


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--calibrate",
        action="store_true",
        help="for a small model: find how probable an answer is where it wants one, rather than a tool (minutes)",
    )
    parser.add_argument(
        "--no-adapter",
        action="store_true",
        help="with --calibrate: a local model without its adapter for tool use (with it, none can be calibrated)",
    )


def model_options(args: argparse.Namespace, name: str) -> dict[str, Any]:
    """How the model is built that is calibrated."""
    if not args.no_adapter:
        return {}
    if not name.startswith("local:"):
        raise ConfigError("--no-adapter: only a model in this process (local:NAME) can be loaded without it")
    return {"adapter": False}


def print_calibration(calibration: Calibration, name: str, path: Path | None, *, as_json: bool) -> None:
    if as_json:
        print(msgspec.json.encode({**msgspec.to_builtins(calibration), "file": str(path) if path else None}).decode())
        return
    adapter = f" with {calibration.adapter}" if calibration.adapter else ""
    print(f"{name}{adapter}, dialect {calibration.dialect}: it wants to answer from this probability of an answer on")
    when = {"before any result": calibration.first, "after a result": calibration.later}
    if calibration.fits is not None:
        when["asked whether a tool is for the question, it is believed from a yes of"] = calibration.fits
    for what, fit in when.items():
        print(
            f"  {what}: {fit.threshold:g} (right in {fit.right} of {fit.of} decisions, at 0.5 in {fit.right_at_half})"
        )
    print("these are the decisions that the thresholds were derived from: on others expect a little less")
    if path is not None:
        print(f"stored in {path}")
