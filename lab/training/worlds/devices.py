"""Tools that need no facts: a calculator, converters, and tools that send something."""

from __future__ import annotations

import ast
import json
import operator
import random
from collections.abc import Callable
from typing import Any

from training.worlds import words as w
from training.worlds.tools import Args, parameters, text_schema
from treadle import Tool, ToolError

OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.Mod: operator.mod,
}


def compute(expression: str) -> float | int:
    """The value of an arithmetic expression. Never `eval`: the tree is walked."""

    def walk(node: ast.expr) -> float | int:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            value = walk(node.operand)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](walk(node.left), walk(node.right))
        raise ToolError("only numbers and + - * / ** % ( ) are allowed")

    try:
        value = walk(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ZeroDivisionError, OverflowError) as error:
        raise ToolError(f"cannot compute {expression!r}: {error}") from None
    return round(value, 6) if isinstance(value, float) else value


class Calculator:
    def __init__(self, r: random.Random) -> None:
        self.parameter = r.choice(("expression", "expr", "formula", "input", "term"))
        self.style = r.randrange(4)
        self.name = r.choice(
            ("calculate", "compute", "evaluate", "math", "calc", "arithmetic", "solve_expression", "calculator")
        )
        self.description = r.choice(
            (
                "Evaluates an arithmetic expression with + - * / and parentheses.",
                "Works out arithmetic exactly.",
                "A calculator for numbers, + - * / and brackets.",
                "Compute a numeric expression.",
                "Calculates the value of a formula.",
            )
        )
        self.schema = parameters(
            {self.parameter: text_schema(r.choice(("", "for example (2 + 3) * 4", "What to work out, like 12 * 3.5")))}
        )

    def args(self, expression: str) -> Args:
        return {self.parameter: expression}

    def call(self, **args: Any) -> str:
        expression = str(args[self.parameter])
        value = compute(expression)
        text = w.number(value)
        return (text, f"{expression} = {text}", json.dumps({"result": value}), f"Result: {text}")[self.style]

    def tool(self) -> Tool:
        return Tool(self.name, self.description, self.schema, self.call, effect="pure")


class Converter:
    """Units of measure, or money."""

    def __init__(self, r: random.Random, money: bool = False) -> None:
        self.money = money
        names = (
            (("amount", "from_code", "to_code"), ("sum", "from", "to"), ("amount", "base", "quote"))
            if money
            else (
                ("value", "from_unit", "to_unit"),
                ("amount", "source", "target"),
                ("quantity", "unit", "into"),
                ("value", "from", "to"),
            )
        )
        self.names = r.choice(names)
        self.style = r.randrange(3)
        self.rates = {code: r.uniform(0.4, 30) for code in w.CURRENCIES}
        if money:
            self.name = r.choice(("exchange", "fx", "change_money", "money_exchange", "forex", "convert_currency"))
            self.description = r.choice(
                (
                    "Converts an amount of money into another currency (three-letter codes).",
                    "What an amount is worth in another currency, by ISO code.",
                )
            )
        else:
            self.name = r.choice(("convert_units", "unit_converter", "to_unit", "convert_measure", "units"))
            self.description = r.choice(
                (
                    "Converts a quantity from one unit to another.",
                    "Unit conversion for lengths, weights, times and volumes.",
                )
            )
        value, source, target = self.names
        self.schema = parameters(
            {value: {"type": "number"}, source: text_schema("for example EUR" if money else ""), target: text_schema()}
        )

    def args(self, value: float, source: str, target: str) -> Args:
        return dict(zip(self.names, (value, source, target), strict=True))

    def convert(self, value: float, source: str, target: str) -> float:
        if self.money:
            if source.upper() not in self.rates or target.upper() not in self.rates:
                raise ToolError("unknown currency; use codes such as EUR, USD, GBP")
            return round(value * self.rates[target.upper()] / self.rates[source.upper()], 2)
        for known, other, factor in w.UNITS:
            if (source.lower(), target.lower()) == (known.lower(), other.lower()):
                return round(value * factor, 3)
        raise ToolError(
            f"cannot convert {source} to {target}; units: {', '.join(sorted({unit for unit, _, _ in w.UNITS}))}"
        )

    def call(self, **args: Any) -> str:
        value, source, target = (args[name] for name in self.names)
        result = w.number(self.convert(float(value), str(source), str(target)))
        return (
            result,
            f"{w.number(float(value))} {source} = {result} {target}",
            json.dumps({"result": float(result)}),
        )[self.style]

    def tool(self) -> Tool:
        return Tool(self.name, self.description, self.schema, self.call, effect="pure")


class Messenger:
    """Sends something to somebody: a person, a channel, an address, a number."""

    FORMS = (
        (("recipient", "text"), ("send_message", "message", "notify"), "Sends a message to a person.", w.person),
        (
            ("channel", "text"),
            ("post_message", "post_to_channel", "chat_post"),
            "Posts a text in a chat channel.",
            lambda r: "#" + r.choice(("sales", "ops", "general", "alerts", "north")),
        ),
        (("to", "subject", "body"), ("send_mail", "write_mail", "compose_email"), "Sends an e-mail.", w.email),
        (("number", "text"), ("send_sms", "sms", "text_phone"), "Sends a text message to a phone number.", w.phone),
        (
            ("person", "message"),
            ("inform", "push_note", "send_note"),
            "Delivers a note to a colleague.",
            lambda r: r.choice(w.FIRST),
        ),
    )

    def __init__(self, r: random.Random, form: int | None = None) -> None:
        self.r = r
        self.form = r.randrange(len(self.FORMS)) if form is None else form
        self.names, names, self.description, self.receivers = self.FORMS[self.form]
        self.name = r.choice(names)

    def args(self, receiver: str, text: str, subject: str) -> Args:
        values = (receiver, subject, text) if len(self.names) == 3 else (receiver, text)
        return dict(zip(self.names, values, strict=True))

    def call(self, **args: Any) -> str:
        return self.r.choice(
            ("sent", "Message sent.", f"ok, sent to {args[self.names[0]]}", '{"sent": true}', "delivered")
        )

    def tool(self) -> Tool:
        return Tool(
            self.name,
            self.description,
            parameters({name: text_schema() for name in self.names}),
            self.call,
            effect="unsafe",
        )
