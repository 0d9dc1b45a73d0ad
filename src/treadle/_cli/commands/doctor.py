"""`treadle doctor`: tests what a model can do."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from treadle._cli.display.table import table
from treadle._cli.display.text import clean, one_line, plain_json, plural, seconds, spent
from treadle._cli.driving.interrupts import run_async
from treadle._cli.setup import exit_codes
from treadle._cli.setup.options import add_command, flag, positive
from treadle._types.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from treadle._models.catalog.probe import Finding, Report
    from treadle._models.catalog.probe_target import Target

EXAMPLES = """examples:
  treadle doctor                             the model that is used when none is given
  treadle doctor ollama:llama3.2
  treadle doctor http://localhost:8000/v1    any OpenAI-compatible server
  treadle doctor --calibrate local:qwen2.5-coder-1.5b

Later runs of the same model at the same address use the results.

"""
ABILITY_NAMES = {
    "answers": "answers",
    "usage": "reports usage",
    "streaming": "streaming",
    "tool_call": "tool calls",
    "tool_result": "tool results",
    "parallel_calls": "parallel calls",
    "forced_tool": "forced tool choice",
    "json_mode": "JSON mode",
    "json_schema": "JSON schema",
    "grammar": "grammar",
    "logprobs": "probabilities",
    "reasoning": "reasoning channel",
}


def register(commands: Any) -> None:
    from treadle._local.calibration import add_options

    parser = add_command(
        commands,
        "doctor",
        "Test with real calls what a model can do, choose its dialect, and store both for later runs.",
        EXAMPLES,
    )
    parser.add_argument("target", nargs="?", metavar="MODEL|URL", help="provider:model, or the address of a server")
    line = "the model of the server at URL (default: the first one it lists)"
    parser.add_argument("--name", default="", metavar="MODEL", help=line)
    line = "the environment variable with the API key for URL (default: no key is sent)"
    parser.add_argument("--key-env", metavar="VARIABLE", help=line)
    line = "the time limit for one reply (120)"
    parser.add_argument("--timeout", type=positive, default=120.0, metavar="SECONDS", help=line)
    add_options(parser)
    flag(parser, "--dry", help="do not store the results")
    flag(parser, "--json", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    return run_async(_calibrate(args) if args.calibrate else _examine(args))


async def _calibrate(args: argparse.Namespace) -> int:
    from treadle._local.calibration import calibrate, model_options, print_calibration, refuse_unsuitable
    from treadle._models.base import meet
    from treadle._models.catalog.default import model_named
    from treadle._models.catalog.probed_profiles import keep_thresholds
    from treadle._models.catalog.registry import resolve_model

    name = _target_name(args)
    options = model_options(args, name)
    if (key := _key(args.key_env)) is not None:
        options["api_key"] = key
    spec = f"{name}#{args.name}" if args.name else name
    model = resolve_model(spec, **options) if options else model_named(spec)
    on_read = None if args.json or not sys.stderr.isatty() else _print_progress
    try:
        await meet(model)
        refuse_unsuitable(model)  # before a download
        if (load := getattr(model, "load", None)) is not None:
            await load()
        calibration = await calibrate(model, on_read=on_read)
    finally:
        await model.aclose()
    provider, address = getattr(model, "provider", ""), getattr(model, "address", "")
    path = None if args.dry else keep_thresholds(calibration.thresholds, provider, model.name, address)
    print_calibration(calibration, model.name, path, as_json=args.json)
    return exit_codes.OK


def _print_progress(number: int, count: int) -> None:
    print(f"\r  decision {number} of {count}", end="\n" if number == count else "", file=sys.stderr, flush=True)


async def _examine(args: argparse.Namespace) -> int:
    from treadle._models.catalog.probe import probe
    from treadle._models.catalog.probe_target import target_of
    from treadle._models.catalog.probed_profiles import save_probed_profile

    target = await target_of(_target_name(args), api_key=_key(args.key_env), name=args.name)
    model = target.model
    if not args.json:
        _print_target(target)
    if (load := getattr(model, "load", None)) is not None:
        await load()
    on_finding = None if args.json or not sys.stderr.isatty() else _print_finding
    try:
        report = await probe(model, target.claimed, timeout=args.timeout, window=target.window, on_finding=on_finding)
    finally:
        await model.aclose()
    path = save_probed_profile(report.probed_profile()) if report.answers and report.provider and not args.dry else None
    if args.json:
        _print_json(report, path)
    else:
        _print(report, target, path, args.key_env)
    return exit_codes.OK if report.answers else exit_codes.FAILED


def _target_name(args: argparse.Namespace) -> str:
    if args.target:
        return args.target
    from treadle._cli.setup.launch import print_choice
    from treadle._cli.setup.user_config import read_user_config
    from treadle._models.catalog.default import choose

    choice = choose(None, read_user_config().model)
    print_choice(choice, quiet=args.json)
    return choice.spec


def _key(variable: str | None) -> str | None:
    if not variable:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(f"--key-env {variable}: the environment variable is not set")
    return key


def _print_target(target: Target) -> None:
    address = getattr(target.model, "address", "")
    server = f" ({target.server})" if target.server and address else ""
    print(f"probing {one_line(target.model.name, 80)}{f' at {address}' if address else ''}{server}", file=sys.stderr)
    if target.others:
        others = one_line(", ".join(target.others), 100)
        print(f"other models of this server (choose one with --name): {others}", file=sys.stderr)


def _print_finding(finding: Finding) -> None:
    print(f"  {ABILITY_NAMES[finding.ability]}: {_yes(finding.works)}", file=sys.stderr, flush=True)


def _yes(value: bool | None) -> str:
    return "?" if value is None else "yes" if value else "no"


def _print(report: Report, target: Target, path: Path | None, key_env: str | None) -> None:
    rows: list[list[str]] = []
    for finding in report.findings:
        claimed = "-" if finding.claimed is None else _yes(finding.claimed)
        elapsed = seconds(finding.elapsed) if finding.elapsed else ""
        rows.append([ABILITY_NAMES[finding.ability], claimed, _yes(finding.works), elapsed, finding.note])
    print(table(("ABILITY", "CLAIMED", "WORKS", "TIME", "NOTE"), rows, right=(3,)))
    if not report.answers:
        print("\nthe model does not answer; no results were stored")
        return
    if report.window:
        print(f"\ncontext window: {report.window} tokens (from the server)", end="")
    print(f"\ndialect: {report.dialect} ({report.reason})")
    print(f"cost: {spent(report.usage)} in {plural(report.usage.requests, 'request')}")
    if path is not None:
        print(f"stored in {path}")
    for line in usage_lines(target, key_env):
        print(clean(line))


def usage_lines(target: Target, key_env: str | None) -> list[str]:
    """Return how this model is named from now on: at the shell, in a file, in Python."""
    spec, name, address = target.spec, target.model.name, getattr(target.model, "address", "")
    shell, code = f"treadle run '...' -m '{spec}'", f"Agent({spec!r}, tools=[...])"
    if key_env and "://" in spec:  # an address alone gets no key
        shell = f"OPENAI_BASE_URL='{address}' OPENAI_API_KEY=\"${key_env}\" treadle run '...' -m 'openai:{name}'"
        code = f"Agent(OpenAIModel({name!r}, base_url={address!r}, api_key=os.environ[{key_env!r}]), tools=[...])"
        spec = f"openai:{name}"
    file = f'llm_id: "{spec}"' + ("  # with both variables set as above" if key_env and "://" in target.spec else "")
    return ["use it:", f"  shell   {shell}", f"  file    {file}", f"  Python  {code}"]


def _print_json(report: Report, path: Path | None) -> None:
    import msgspec

    shown = msgspec.to_builtins(report) | {
        "usage": msgspec.to_builtins(report.usage),
        "findings": [
            {"ability": f.ability, "claimed": f.claimed, "works": f.works, "note": f.note, "elapsed": f.elapsed}
            for f in report.findings
        ],
        "answers": report.answers,
        "file": str(path) if path else None,
    }
    print(plain_json(shown))
