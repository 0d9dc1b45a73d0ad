"""Agents that play their parts the same way every time, for the page to show."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from msgspec import Meta

from server.serving import Gate, PacedModel
from treadle import Agent, Artifact, DagAgent, ScriptedModel, ToolContext, ToolError, ToolResponse, tool
from treadle._types.messages import ToolMessage, UserMessage
from treadle._types.profile import Prices, Profile
from treadle._types.request import Citation, ProviderCall, Reply, Request

Address = Annotated[str, Meta(pattern="@")]
FACTS = {
    "Eiffel Tower": "Wrought-iron lattice tower in Paris. Height: 330 m including antennas. Completed in 1889.",
    "Empire State Building": (
        "Art Deco skyscraper in New York City. Height: 443 m with the antenna, 381 m to the roof. Completed in 1931."
    ),
}
COMPARED = """The **Empire State Building** is taller, by 113 metres.

| | Eiffel Tower | Empire State Building |
|---|---:|---:|
| Height with antenna | 330 m | 443 m |
| Completed | 1889 | 1931 |

For forty years nothing on earth was higher than the tower:

1. The Eiffel Tower held the record until 1930.
2. The Chrysler Building took it for eleven months.
3. The Empire State Building kept it until 1970.

```python
difference = 443 - 330  # metres
```
"""
REPORT = """<!doctype html><meta charset="utf-8"><title>Sales</title>
<style>body{font:16px system-ui;margin:2rem;color:#24221f}
.bar{height:1.4rem;background:#2f5d62;border-radius:4px;margin:.2rem 0 .8rem}</style>
<h1>Sales by quarter</h1>
<p>Q1</p><div class="bar" style="width:38%"></div><p>Q2</p><div class="bar" style="width:55%"></div>
<p>Q3</p><div class="bar" style="width:47%"></div><p>Q4</p><div class="bar" style="width:82%"></div>
<p id="note">Figures in thousands.</p>
<script>document.getElementById("note").textContent = "SCRIPT RAN"; top.document.title = "OWNED";</script>
"""


class Gates:
    """What a test opens when it has seen enough."""

    def __init__(self) -> None:
        self.search, self.build, self.steps = Gate(), Gate(), Gate()
        self.answer = Gate()


def lookup_tool() -> Any:
    @tool(effect="pure")
    async def encyclopedia(title: str) -> str:
        """Look an article up in the encyclopedia."""
        await asyncio.sleep(0.15)
        if title not in FACTS:
            raise ToolError(f"there is no article called {title!r}")
        return FACTS[title]

    return encyclopedia


def other_tools(gates: Gates) -> list[Any]:
    @tool
    async def search(query: str) -> str:
        """Search the archive."""
        await gates.search.wait()
        return (
            '[{"title": "Hotel du Nord", "price": 118, "currency": "EUR"}, '
            '{"title": "Pension Anna", "price": 74, "currency": "EUR"}]'
        )

    @tool
    async def build(target: str, context: ToolContext) -> str:
        """Build a target."""
        for line in ("resolving packages", "compiling 214 modules", "linking"):
            context.output(line + "\n")
            await asyncio.sleep(0.02)
        await gates.build.wait()
        return "built in 12.4 s"

    @tool
    async def chart(year: int) -> ToolResponse:
        """Draw a chart of the sales of a year."""
        return ToolResponse(
            "drawn", artifacts=(Artifact("sales.html", REPORT, "text/html", summary="A bar chart of four quarters."),)
        )

    @tool(approval="ask")
    async def send_mail(to: Address, subject: str, text: str, cc: tuple[str, ...] = ()) -> str:
        """Send a mail."""
        return f"delivered to {to}"

    return [search, build, chart, send_mail]


def question_of(request: Request) -> str:
    questions = [m for m in request.messages if isinstance(m, UserMessage) and m.pinned and m.kind == "question"]
    return str(questions[-1].content) if questions else ""


def results(request: Request) -> int:
    question = max(
        (i for i, m in enumerate(request.messages) if isinstance(m, UserMessage) and m.pinned and m.kind == "question"),
        default=0,
    )
    return sum(isinstance(m, ToolMessage) for m in request.messages[question:])


def calls(thought: str, *named: tuple[str, dict[str, Any]]) -> Reply:
    import msgspec

    from treadle._types.request import RawCall

    raw = tuple(RawCall("", name, msgspec.json.encode(args).decode()) for name, args in named)
    return Reply(text=thought, calls=raw, finish="calls")


def play(request: Request) -> Any:
    """What the model says, by question and by what has been found so far."""
    asked, has_results = question_of(request), bool(results(request))
    interrupted = any(isinstance(m, UserMessage) and m.kind == "interrupt" for m in request.messages)
    if request.component == "synthesis":
        facts = str(request.messages[-1].content)  # pyright: ignore
        return COMPARED if "taller" in facts else facts.rpartition("Draft answer:\n")[2]
    if "taller" in asked:
        if not has_results:
            thought = "Both heights are needed. I will look the two buildings up side by side."
            return calls(
                thought,
                ("encyclopedia", {"title": "Eiffel Tower"}),
                ("encyclopedia", {"title": "Empire State Building"}),
            )
        return "The Empire State Building, by 113 m."
    if "hotel" in asked:
        if not has_results:
            return calls("First see what there is.", ("search", {"query": "hotels near Gare de l'Est"}))
        return (
            "**Pension Anna** costs 74 euros a night, and dogs are welcome."
            if interrupted
            else "**Pension Anna** costs 74 euros a night."
        )
    if "build" in asked:
        return calls("", ("build", {"target": "release"})) if not has_results else "The release is built."
    if "chart" in asked:
        return (
            calls("A chart says it best.", ("chart", {"year": 2025}))
            if not has_results
            else "Here is the chart. The fourth quarter was the best."
        )
    if "mail" in asked:
        mail = {
            "to": "ann@example.com",
            "subject": "Thursday",
            "text": "Dear Ann,\n\nThursday at ten suits me.\n\nBest wishes",
        }
        return (
            calls("The mail is ready; it needs your word.", ("send_mail", mail))
            if not has_results
            else "Ann has her mail."
        )
    if "letters" in asked:
        to = ["ann@example.com", "bob@example.com"][results(request) :][:1]
        letter = {"subject": "Thursday", "text": "It suits me."}
        return calls("", *(("send_mail", {"to": name, **letter}) for name in to)) if to else "Both have theirs."
    if "side by side" in asked:
        both = ("search", {"query": "x"}), ("build", {"target": "y"})
        return calls("", *both) if not has_results else "Done."
    if "rain" in asked:
        searched = (ProviderCall("web_search", "s1", "rain in Bergen", "Bergen: rain https://yr.no/bergen"),)
        cited = (Citation("https://yr.no/bergen", "Bergen", "Rain all day"), Citation("javascript:alert(1)", "Worse"))
        return Reply("It rains.", used=searched, citations=cited)
    if "Atlantis" in asked:
        return (
            calls("", ("encyclopedia", {"title": "Atlantis"}))
            if not has_results
            else "There is no article about Atlantis."
        )
    return "Hello."


def guide(gates: Gates) -> Agent:
    profile = Profile(tool_call=True, parallel_calls=True, json_mode=True, prices=Prices(3.0, 15.0))
    model = PacedModel(play, profile=profile, name="scripted", chunk=14, pause=0.004)
    return Agent(
        model,
        tools=[lookup_tool(), *other_tools(gates)],
        answer="synthesize",
        description="Looks things up, builds, draws, writes.",
    )


PLAN = {
    "steps": [
        {"id": "peru", "task": "Find Peru's GDP and its growth", "dependencies": []},
        {"id": "chile", "task": "Find Chile's GDP and its growth", "dependencies": []},
        {"id": "trade", "task": "Find the trade between the two", "dependencies": []},
        {"id": "compare", "task": "Compare the economies", "dependencies": ["peru", "chile"]},
        {"id": "report", "task": "Write the report", "dependencies": ["compare", "trade"]},
    ]
}


def planner(gates: Gates) -> Agent:
    async def pause() -> None:
        await gates.steps.wait()

    class Steps(ScriptedModel):
        async def stream(self, request: Request) -> Any:
            if "report" in question_of(request) or "Compare the economies" in question_of(request):
                await pause()
            async for part in super().stream(request):
                yield part

    def script(request: Request) -> Any:
        if request.component == "planner":
            return {"name": "make_plan", "args": PLAN}
        if request.component == "analyzer":
            answer = "Chile is richer per head; **Peru** grows faster."
            return {
                "name": "judge",
                "args": {"achieved": True, "confidence": 0.9, "final_answer": answer, "reasoning": "all there"},
            }
        return f"Done: {question_of(request).splitlines()[0]}."

    return DagAgent(
        Steps(script), tools=[lookup_tool()], description="Plans first, then works on the steps side by side."
    )
