"""The components of a document that are neither agents nor tools: what they take, what they give, how they decide."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, cast

from msgspec import Meta, Struct

from treadle._config.document import Component
from treadle._config.scope import Scope, parsed
from treadle._types.errors import ToolError


class Params(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The parameters of a component; unknown ones are refused."""


class Input(Params, frozen=True):
    """A field of a form."""

    name: str = ""
    """What the person sees; the key when not set."""
    type: Literal["line", "paragraph", "options", "integer", "number", "boolean", "file"] = "line"
    """What may be filled in."""
    options: tuple[str, ...] = ()
    """The choices, with the type `options`."""
    optional: bool = False
    """Whether it may stay empty."""
    value: Any = None
    """What it is at first."""


class BeginParams(Params, frozen=True):
    prologue: str = ""
    """What is shown before the first question."""
    inputs: dict[str, Input] = {}
    """What the document is given by name: a JSON object as the question, or the question is the first of them."""


class MessageParams(Params, frozen=True):
    content: str | list[str] = []
    """The texts, with references; without any, the outputs of the components before it."""


class Category(Params, frozen=True):
    description: str = ""
    """What belongs to it."""
    examples: tuple[str, ...] = ()
    """Texts that do."""
    to: tuple[str, ...] = ()
    """The components that come next."""


class CategorizeParams(Params, frozen=True):
    category_description: dict[str, Category]
    """The categories by name."""
    query: str = "sys.query"
    """A reference to the text."""
    llm_id: str = ""
    """The model; that of the first agent when not set."""
    temperature: Annotated[float, Meta(ge=0)] | None = None
    """The setting of that name."""
    message_history_window_size: Annotated[int, Meta(ge=0)] | None = 1
    """How many messages of the conversation are looked at, the question included."""


class ConditionItem(Params, frozen=True):
    cpn_id: str
    """A reference to the value."""
    operator: str = "="
    """One of: =, !=, >, <, >=, <=, contains, not contains, start with, end with, empty, not empty."""
    value: str = ""
    """What it is compared with; may hold references."""


class Condition(Params, frozen=True):
    items: tuple[ConditionItem, ...]
    """What is compared."""
    to: tuple[str, ...]
    """The components that come next when it holds."""
    logical_operator: Literal["and", "or"] = "and"
    """Whether all items must hold, or one."""


class SwitchParams(Params, frozen=True):
    conditions: tuple[Condition, ...]
    """The first that holds leads the way."""
    end_cpn_ids: tuple[str, ...] = ()
    """The components that come next when none holds."""


class Variable(Params, frozen=True):
    value: str
    """A reference."""


class Group(Params, frozen=True):
    group_name: str
    """The name of the output."""
    variables: tuple[Variable, ...]
    """The first that has a value is the output."""
    type: str = "string"
    """What it is, for readers."""


class AggregatorParams(Params, frozen=True):
    groups: tuple[Group, ...]
    """One output each."""


class Assignment(Params, frozen=True):
    variable: str
    """A variable under `globals`."""
    operator: Literal[
        "overwrite", "clear", "set", "append", "extend", "remove_first", "remove_last", "+=", "-=", "*=", "/="
    ] = "overwrite"
    """What is done to it."""
    parameter: Any = None
    """A value, or a text with references."""


class AssignerParams(Params, frozen=True):
    variables: tuple[Assignment, ...]
    """What is done, in order."""


class OutputRef(Params, frozen=True):
    ref: str
    """A reference to an output of a component inside."""
    type: str = ""
    """What it is, for readers."""


class IterationParams(Params, frozen=True):
    items_ref: str
    """A reference to a list, or to a text that is a JSON list or has an item on each line."""
    outputs: dict[str, OutputRef] = {}
    """By name, the list of what a component inside gave for each item."""


class NoParams(Params, frozen=True):
    pass


class FillUpParams(Params, frozen=True):
    inputs: dict[str, Input]
    """The form."""
    tips: str = ""
    """What the person is told, with references."""


class TextParams(Params, frozen=True):
    method: Literal["split", "merge"] = "merge"
    """`split` gives a list, `merge` a text."""
    split_ref: str = ""
    """A reference to the text to split."""
    script: str = ""
    """The text to merge, with references."""
    delimiters: tuple[str, ...] = (",",)
    """Between the parts."""


class HttpParams(Params, frozen=True):
    url: str
    """The address, with references."""
    method: Literal["get", "post", "put", "GET", "POST", "PUT"] = "get"
    """How it is asked."""
    headers: dict[str, str] = {}
    """Headers of the request, with references."""
    variables: dict[str, str] = {}
    """Query parameters, or the fields of the JSON body, with references."""
    timeout: Annotated[float, Meta(gt=0)] = 60.0
    """Seconds."""
    clean_html: bool = False
    """Whether a page is given as its readable text."""


class CodeParams(Params, frozen=True):
    script: str
    """A program with a function `main`, whose result is the output."""
    lang: Literal["python"] = "python"
    """What it is written in."""
    arguments: dict[str, str] = {}
    """The arguments of `main`: references, or texts with references."""


PARAMS: dict[str, type[Params]] = {
    "begin": BeginParams,
    "message": MessageParams,
    "categorize": CategorizeParams,
    "switch": SwitchParams,
    "variableaggregator": AggregatorParams,
    "variableassigner": AssignerParams,
    "iteration": IterationParams,
    "iterationitem": NoParams,
    "userfillup": FillUpParams,
    "stringtransform": TextParams,
    "invoke": HttpParams,
    "code": CodeParams,
}
"""The kinds that are neither agents nor tools, and what they take."""
REFERRING = (
    "sys_prompt", "prompts", "content", "arguments", "query", "conditions", "groups", "variables", "items_ref", "tips",
    "split_ref", "url", "headers",
)  # fmt: skip
"""The parameters in which references are replaced."""

_TEXT = ("content", "formalized_content")
_ANY: Callable[[dict[str, Any]], Sequence[str] | None] = lambda params: None  # noqa: E731
FIELDS_OF: dict[str, Callable[[dict[str, Any]], Sequence[str] | None]] = {
    **dict.fromkeys(PARAMS, _ANY),
    "agent": lambda params: ("content", "structured", "structured_output", "use_tools"),
    "tool": _ANY,
    "message": lambda params: _TEXT,
    "categorize": lambda params: ("category_name", "content"),
    "begin": lambda params: ("content", *params.get("inputs", ())),
    "userfillup": lambda params: ("content", *params.get("inputs", ())),
    "variableaggregator": lambda params: [str(group.get("group_name")) for group in params.get("groups", ())],
}
"""The outputs that a component of each kind has, from its parameters; None: any."""


def kind_of(component: Component) -> str:
    name = component.obj.component_name.replace("_", "").replace(" ", "").lower()
    if name == "agent":
        return name
    if name == "codeexec" and "script" in component.obj.params:
        return "code"
    return name if name in PARAMS else "tool"


def next_of(component: Component) -> list[str]:
    """The components that a component which leads the way may choose."""
    params = component.obj.params
    match kind_of(component):
        case "categorize":
            entries = list(cast("dict[str, Any]", params.get("category_description") or {}).values())
        case "switch":
            entries = [*cast("list[Any]", params.get("conditions") or ()), {"to": params.get("end_cpn_ids") or ()}]
        case _:
            return []
    choices = [cast("dict[str, Any]", entry).get("to", ()) for entry in entries if isinstance(entry, dict)]
    return [str(name) for names in choices for name in names]


# ---- what they do


def begin_outputs(params: BeginParams, question: str, data: Any) -> dict[str, Any]:
    """The question, and its parts by name where the document asks for some."""
    fields = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    outputs: dict[str, Any] = {key: fields.get(key, entry.value) for key, entry in params.inputs.items()}
    if params.inputs and not fields.keys() & params.inputs.keys():
        outputs[next(iter(params.inputs))] = question
    return {"content": question, **outputs}


def choice_prompt(params: CategorizeParams) -> str:
    lines = [
        f"- {name}: {category.description}" + "".join(f"\n  for example: {example}" for example in category.examples)
        for name, category in params.category_description.items()
    ]
    return (
        "Say to which one of these categories the text belongs. Reply with the name of the category and nothing else.\n"
        + "\n".join(lines)
    )


def chosen_category(params: CategorizeParams, reply: str) -> str:
    """The category that a reply names: alone, as a value, or most often; `ToolError` when it names none."""
    plain = re.sub(r"[\s\"'*`.{}:]+", " ", reply).strip().lower()
    names = list(params.category_description)
    for name in names:
        if name.strip().lower() == plain:
            return name
    counts = {name: reply.lower().count(name.strip().lower()) for name in names}
    best = max(names, key=lambda name: counts[name])
    if not counts[best]:
        raise ToolError(f"the model named none of the categories {', '.join(names)}: {reply[:200]}")
    return best


def chosen_branch(params: SwitchParams, scope: Scope) -> tuple[str, ...]:
    for condition in params.conditions:
        results = [_holds(item, scope) for item in condition.items]
        if (all if condition.logical_operator == "and" else any)(results):
            return condition.to
    return params.end_cpn_ids


def _holds(item: ConditionItem, scope: Scope) -> bool:
    left, right = scope.text(item.cpn_id).strip(), scope.render(item.value).strip()
    match item.operator:
        case "contains":
            return right.lower() in left.lower()
        case "not contains":
            return right.lower() not in left.lower()
        case "start with":
            return left.lower().startswith(right.lower())
        case "end with":
            return left.lower().endswith(right.lower())
        case "empty":
            return not left
        case "not empty":
            return bool(left)
        case "=" | "==":
            return left.lower() == right.lower()
        case "!=" | "≠":
            return left.lower() != right.lower()
        case ">" | "<" | ">=" | "<=" | "≥" | "≤":
            return _compared(left, item.operator, right)
        case other:
            raise ToolError(f"a condition has the unknown operator {other!r}")


def _compared(left: str, operator: str, right: str) -> bool:
    try:
        a: Any = float(left)
        b: Any = float(right)
    except ValueError:
        a, b = left, right
    return {">": a > b, "<": a < b, ">=": a >= b, "≥": a >= b, "<=": a <= b, "≤": a <= b}[operator]


def aggregated(params: AggregatorParams, scope: Scope) -> dict[str, Any]:
    outputs: dict[str, Any] = {}
    for group in params.groups:
        values = (scope.value(variable.value) for variable in group.variables)
        outputs[group.group_name] = next((value for value in values if value not in (None, "")), "")
    return {"content": next(iter(outputs.values()), ""), **outputs}


def assign(params: AssignerParams, scope: Scope) -> None:
    for one in params.variables:
        name = one.variable.strip("{} ")
        value = scope.render_all(one.parameter)
        scope.values[name] = _assigned(scope.values.get(name), one.operator, value)


def _assigned(old: Any, operator: str, value: Any) -> Any:
    items: list[Any] = list(cast("list[Any]", old)) if isinstance(old, list) else [] if old in (None, "") else [old]
    match operator:
        case "overwrite" | "set":
            return value
        case "clear":
            return [] if isinstance(old, list) else ""
        case "append":
            return [*items, value]
        case "extend":
            return [*items, *(cast("list[Any]", value) if isinstance(value, list) else [value])]
        case "remove_first":
            return items[1:]
        case "remove_last":
            return items[:-1]
        case _:
            a, b = float(cast("Any", old) or 0), float(value)
            return {"+=": a + b, "-=": a - b, "*=": a * b, "/=": a / b if b else 0.0}[operator]


def transformed(params: TextParams, scope: Scope) -> Any:
    if params.method == "split":
        pattern = "|".join(map(re.escape, params.delimiters)) or ","
        return [part.strip() for part in re.split(pattern, scope.text(params.split_ref)) if part.strip()]
    return scope.render(params.script)


def items_of(value: Any) -> list[Any]:
    """The items of a list; of any other text, its lines."""
    data = parsed(value)
    if isinstance(data, list):
        return cast("list[Any]", data)
    if isinstance(data, dict):
        values = cast("dict[str, Any]", data).values()
        lists = [cast("list[Any]", item) for item in values if isinstance(item, list)]
        return lists[0] if lists else [data]
    return [line.strip() for line in str(value or "").splitlines() if line.strip()]


def form_schema(inputs: dict[str, Input]) -> dict[str, Any]:
    """The JSON Schema of what a form gives: whoever asks the person draws the fields from it."""
    kinds = {"integer": "integer", "number": "number", "boolean": "boolean"}
    properties = {
        key: {"type": kinds.get(field.type, "string"), "title": field.name or key}
        | ({"enum": list(field.options)} if field.type == "options" and field.options else {})
        | ({"format": "paragraph"} if field.type == "paragraph" else {})
        | ({"default": field.value} if field.value not in (None, "") else {})
        for key, field in inputs.items()
    }
    required = [key for key, field in inputs.items() if not field.optional]
    return {"type": "object", "properties": properties, "required": required}


def program_of(params: CodeParams, scope: Scope) -> str:
    """The program with a call of its `main`, whose result is printed: a text as it is, anything else as JSON."""
    arguments = {
        name: scope.value(text) if "@" in text and "{{" not in text else scope.render(text)
        for name, text in params.arguments.items()
    }
    call = f"_result = main(**{arguments!r})\nprint(_result if isinstance(_result, str) else json.dumps(_result))"
    return f"import json\n{params.script}\n\n{call}"
