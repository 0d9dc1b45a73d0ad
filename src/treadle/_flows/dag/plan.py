"""A plan is data: steps with dependencies. It can be shown, edited, kept in a file, and run again."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle._safety.data import decode_json, read_text
from treadle._types.errors import ConfigError
from treadle._types.events import DagPlanned, PlannedStep

MAX_STEPS = 10
_REFERENCE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_-]*)((?:\.[A-Za-z0-9_-]+)*)")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "steps": {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_STEPS,
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": ["string", "integer"], "description": "short unique name, letters and digits"},
                    "task": {
                        "type": "string",
                        "description": "what to do, complete in itself; $id or $id.field stands for an earlier result",
                    },
                    "dependencies": {
                        "type": ["array", "null"],
                        "items": {"type": ["string", "integer"]},
                        "description": "ids of steps whose results are needed",
                    },
                    "tool_hint": {
                        "type": ["string", "null"],
                        "description": "the tool this step needs, if one is plain",
                    },
                    "model_hint": {"type": ["string", "null"], "description": "general, fast or reasoning"},
                },
                "required": ["id", "task"],
            },
        }
    },
    "required": ["steps"],
}


DagStep = PlannedStep


class Plan(Struct, frozen=True, omit_defaults=True):
    steps: tuple[DagStep, ...]
    notes: tuple[str, ...] = ()
    """What was corrected while reading it (a dangling dependency, for example)."""

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Plan:
        """A plan from data. Dangling dependencies are pruned; circles, double ids and wrong sizes are refused."""
        notes: list[str] = []
        rows = cast(list[dict[str, Any]], raw.get("steps") or [])
        ids = [str(row["id"]).strip() for row in rows]
        if len(set(ids)) != len(ids):
            raise ValueError(f"two steps have the same id: {sorted(i for i in ids if ids.count(i) > 1)[0]}")
        if not 1 <= len(rows) <= MAX_STEPS:
            raise ValueError(f"a plan has 1 to {MAX_STEPS} steps, this one has {len(rows)}")
        steps: list[DagStep] = []
        for row, step_id in zip(rows, ids, strict=True):
            task = str(row["task"])
            named = [str(name).strip() for name in row.get("dependencies") or ()]
            named += [match.group(1) for match in _REFERENCE.finditer(task) if match.group(1) in ids]
            dependencies = tuple(name for name in dict.fromkeys(named) if name in ids and name != step_id)
            notes.extend(
                f"step {step_id}: dependency {name!r} does not exist and is left out"
                for name in named
                if name not in ids
            )
            notes.extend(f"step {step_id}: it cannot wait for itself" for name in named if name == step_id)
            steps.append(
                DagStep(step_id, task, dependencies, str(row.get("tool_hint") or ""), str(row.get("model_hint") or ""))
            )
        plan = cls(tuple(steps), tuple(notes))
        plan.levels()
        return plan

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        try:
            return cls.parse(decode_json(read_text(Path(path)), dict[str, Any]))
        except (OSError, ValueError, KeyError) as error:
            raise ConfigError(f"{path} is not a plan: {error}") from error

    def save(self, path: str | Path) -> None:
        Path(path).write_bytes(msgspec.json.format(msgspec.json.encode({"steps": self.steps}), indent=2))

    @classmethod
    def of_record(cls, planned: DagPlanned) -> Plan:
        return cls(planned.steps, planned.notes)

    def as_record(self, number: int, free_replans: int) -> DagPlanned:
        return DagPlanned(number, self.steps, self.notes, free_replans)

    def levels(self) -> list[list[DagStep]]:
        """The steps in waves, each depending only on earlier ones; a circle is an error that names it."""
        done: set[str] = set()
        waiting = list(self.steps)
        waves: list[list[DagStep]] = []
        while waiting:
            wave = [step for step in waiting if set(step.dependencies) <= done]
            if not wave:
                raise ValueError(f"the steps {', '.join(step.id for step in waiting)} wait for each other in a circle")
            waves.append(wave)
            done.update(step.id for step in wave)
            waiting = [step for step in waiting if step.id not in done]
        return waves


def resolve(step: DagStep, results: Mapping[str, str]) -> str:
    """The step's task with `$id` and `$id.field` replaced by what those steps found."""

    def value(match: re.Match[str]) -> str:
        name, path = match.group(1), match.group(2)
        if name not in results:
            return match.group(0)
        return _field(results[name], path.strip(".").split(".")) if path else results[name]

    return _REFERENCE.sub(value, step.task)


def _field(result: str, path: list[str]) -> str:
    """A field of a JSON result; the whole result when it has no such field."""
    try:
        value: Any = msgspec.json.decode(result)
        for key in path:
            value = cast(list[Any], value)[int(key)] if isinstance(value, list) else value[key]
    except (msgspec.MsgspecError, KeyError, IndexError, ValueError, TypeError):
        return result
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def fingerprint(step: DagStep, task: str, inputs: Mapping[str, str]) -> str:
    """The same for the same work on the same inputs: such a step is not run again."""
    data = msgspec.json.encode([task, sorted(inputs.values()), step.tool_hint, step.model_hint])
    return hashlib.blake2b(data, digest_size=8).hexdigest()
