"""Ten more broken runs, written after the search was finished and run once: what it finds where nobody has looked.

The models are rules again; each depends on its cause through what a request says, and knows nothing of the search."""

from __future__ import annotations

import json
import re
from typing import Any

from why.cases import Broken
from why.scripted import described, results_of, said, system_of

from treadle import Agent, Plugin, RunContext, ScriptedModel, tool
from treadle._models.scripted import Entry
from treadle._types.events import MessageAdded
from treadle._types.messages import UserMessage
from treadle._types.request import Request


def _made(rule: Any, tools: list[Any] | None, **settings: Any) -> Any:
    def make(journal: Any) -> Agent[Any, Any]:
        return Agent(ScriptedModel(rule), tools, journal=journal, **settings)

    return make


# 1. Early in a long prompt, a rule whose words are in no answer: amounts are net, so the tax is left out.

LONG = "\n".join(
    [
        "You work for a wholesaler.",
        "All amounts are net.",
        *(f"Department {n} handles orders of class {n}." for n in range(60)),
        "Answer in one sentence.",
    ]
)


@tool(effect="pure")
def invoice(number: int) -> str:
    """An invoice."""
    return json.dumps({"number": number, "net": 100, "tax": 19})


def _bookkeeper(request: Request) -> Entry:
    got = results_of(request)
    if not got:
        return {"name": "invoice", "args": {"number": 7}}
    bill = json.loads(got[-1])
    total = bill["net"] if "amounts are net" in system_of(request) else bill["net"] + bill["tax"]
    return f"The invoice is {total}."


# 2. Two tools that look alike: the older one is listed first, and the model takes the first that fits.


@tool(effect="pure")
def get_price(item: str) -> str:
    """The price of an item."""
    return "12"


@tool(effect="pure")
def price_of(item: str) -> str:
    """The price of an item."""
    return "15"


def _first_that_fits(request: Request) -> Entry:
    got = results_of(request)
    if got:
        return f"It costs {got[-1]}."
    fitting = [tool.name for tool in request.tools if "price" in tool.description]
    return {"name": fitting[0], "args": {"item": "lamp"}} if fitting else "I do not know."


# 3. The first result poisons the second: a list of people with two of one name, and the older entry comes first.


@tool(effect="pure")
def find_person(name: str) -> str:
    """People by name."""
    return '[{"id": 11, "name": "Ann Lee", "left": "2019"}, {"id": 42, "name": "Ann Lee"}]'


@tool(effect="pure")
def phone_of(id: int) -> str:
    """The phone number of a person."""
    return {11: "no longer in use", 42: "555-0142"}.get(id, "not known")


def _takes_the_first(request: Request) -> Entry:
    got = results_of(request)
    if not got:
        return {"name": "find_person", "args": {"name": "Ann Lee"}}
    if len(got) == 1:
        ids = re.findall(r'"id": (\d+)', got[0])
        return {"name": "phone_of", "args": {"id": int(ids[0])}} if ids else "There is no such person."
    return f"The number is {got[-1]}."


# 4. A selection of tools that leaves out what is needed: only two may be offered.


def _tool(name: str, text: str) -> Any:
    return tool(effect="pure", name=name, description=text)(lambda: f"{name} says 7")


MANY = [_tool(f"report_{n}", f"Report number {n}.") for n in range(14)] + [_tool("stock_level", "Pieces in stock.")]


def _selects(request: Request) -> Entry:
    if request.component == "tool_selection":
        return json.dumps({"tools": ["report_1", "report_2"]})
    got = results_of(request)
    if got:
        return f"There are {got[-1].split()[-1]} pieces."
    names = {tool.name for tool in request.tools}
    return {"name": "stock_level", "args": {}} if "stock_level" in names else "No report says that."


# 5. A stale memory beside the truth: what is remembered is believed before anything is looked up.


class Remembers(Plugin):
    name = "recollection"

    async def on_start(self, run: RunContext) -> None:
        note = "Known about the user: lives in Turin; likes trains; has two cats."
        await run.emit(MessageAdded(UserMessage(note, kind="note"), self.name))


@tool(effect="unsafe")
def address_book(who: str) -> str:
    """Addresses."""
    return "Genoa"


def _knows_already(request: Request) -> Entry:
    got = results_of(request)
    known = re.search(r"lives in (\w+)", said(request))
    if known:
        return f"The user lives in {known[1]}."
    return f"The user lives in {got[-1]}." if got else {"name": "address_book", "args": {"who": "me"}}


# 6. A limit of the reply cuts the answer before the number comes.


def _long_winded(request: Request) -> Entry:
    from treadle._types.request import Reply

    words = "After a careful look at everything that is known the answer to the question is 31"
    most = request.max_tokens or 1000
    cut = words.split()[:most]
    return Reply(" ".join(cut), finish="length" if len(cut) < len(words.split()) else "stop")


# 7. An example in the description of a parameter that is taken for the value.


@tool(effect="pure")
def weather(city: str) -> str:
    """The weather of a city."""
    return {"Oslo": "snow", "Rome": "sun"}.get(city, "not known")


EXAMPLED = weather.replace(
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string", "description": "A city", "examples": ["Rome"]}},
        "required": ["city"],
    }
)


def _copies_examples(request: Request) -> Entry:
    got = results_of(request)
    if got:
        return f"There is {got[-1]} in Oslo."
    example = re.search(r"'examples': \['(\w+)'\]", str(request.tools[0].parameters))
    return {"name": "weather", "args": {"city": example[1] if example else "Oslo"}}


# 8. The model's own earlier answer in the history, which it will not contradict.


def _stubborn(request: Request) -> Entry:
    earlier = [str(m) for m in request.messages if type(m).__name__ == "AssistantMessage"]
    return "As I said, it is closed." if any("closed" in text for text in earlier) else "It is open until six."


# 9. The same wrong rule stands twice: in the prompt and in a tool's description.


@tool(effect="pure")
def rate(currency: str) -> str:
    """The rate of a currency.
    Quote rates per hundred."""
    return "1.5"


def _per_hundred(request: Request) -> Entry:
    got = results_of(request)
    if not got:
        return {"name": "rate", "args": {"currency": "CHF"}}
    twice = "per hundred" in system_of(request) + described(request, "rate")
    return "The rate is 150." if twice else f"The rate is {got[-1]}."


# 10. A field of a JSON result in another unit than the others.


@tool(effect="unsafe")
def sensor(place: str) -> str:
    """What a sensor measures."""
    return '{"place": "cellar", "celsius": 12, "fahrenheit_raw": 54, "humidity": 80}'


def _last_degrees(request: Request) -> Entry:
    got = results_of(request)
    if not got:
        return {"name": "sensor", "args": {"place": "cellar"}}
    raw = re.search(r'"fahrenheit_raw": (\d+)', got[-1])
    plain = re.search(r'"celsius": (\d+)', got[-1])
    found = raw or plain
    return f"It has {found[1]} degrees." if found else "It does not say."


CASES = [
    Broken(
        "early in a long prompt", _made(_bookkeeper, [invoice], system=LONG),
        lambda c: c.kind == "prompt" and "are net" in c.before and "Department" not in c.before,
        ("net",), "119", question="How much is invoice 7?",
    ),
    Broken(
        "two tools that look alike", _made(_first_that_fits, [get_price, price_of]),
        lambda c: c.name == "get_price" and c.kind in ("tools", "description"),
        ("get_price",), "15", question="What does the lamp cost?",
    ),
    Broken(
        "a result poisoned by an earlier one", _made(_takes_the_first, [find_person, phone_of]),
        lambda c: c.name == "find_person" and c.kind in ("passage", "result") and "11" in c.before,
        ("2019", "11"), "555-0142", question="What is the phone number of Ann Lee?",
    ),
    Broken(
        "a selection that hides the tool", _made(_selects, MANY, selection_max=2),
        lambda c: c.name.startswith("selection") or (c.name == "stock_level" and bool(c.after)),
        ("selection",), "7", question="How many pieces are in stock?",
    ),
    Broken(
        "a stale memory", _made(_knows_already, [address_book], plugins=[Remembers()]),
        lambda c: c.kind == "passage" and "Turin" in c.before,
        ("turin",), "Genoa", question="Where do I live?",
    ),
    Broken(
        "a reply that is cut", _made(_long_winded, None, max_tokens=8),
        lambda c: c.kind == "setting" and c.name == "max_tokens",
        ("max_tokens", "cut", "length"), "31", question="What is the answer?",
    ),
    Broken(
        "an example taken for the value", _made(_copies_examples, [EXAMPLED]),
        lambda c: c.kind == "description" and "Rome" in c.before,
        ("rome", "example"), "snow", question="How is the weather in Oslo?",
    ),
    Broken(
        "its own earlier answer", _made(_stubborn, None),
        lambda c: c.kind == "passage" and "closed" in c.before,
        ("closed",), "open", question="Is the shop open?",
        history=({"role": "user", "content": "Hello."}, {"role": "assistant", "content": "The shop is closed."}),
    ),
    Broken(
        "the same rule in two places", _made(_per_hundred, [rate], system="Be brief.\nQuote rates per hundred."),
        lambda c: "per hundred" in c.before,
        ("per hundred",), "1.5", question="What is the rate of CHF?",
    ),
    Broken(
        "a field in another unit", _made(_last_degrees, [sensor]),
        lambda c: c.kind == "passage" and "fahrenheit" in c.before and "celsius" not in c.before,
        ("fahrenheit",), "12", question="How warm is the cellar?",
    ),
]  # fmt: skip
