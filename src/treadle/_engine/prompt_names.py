"""The names of the engine's own prompts, each of which `Agent(prompts={name: text})` replaces."""

from __future__ import annotations

from collections.abc import Iterable

from treadle._types.errors import ConfigError, nearest

PROMPTS = {
    "synthesis": "what writes the answer from the trace is told",
    "own_words": "the instructions for an answer that needs no tool, written by a tuned model without its tuning",
    "complete": "the request for the full answer after the work",
    "forced_limit": "the request for an answer when the iterations are used up",
    "forced_budget": "the request for an answer when the budget is used up",
    "salvage": "the request for a summary of the progress",
    "typed_answer": "how an answer is turned into data of the `output_type`",
    "repair_call": "the request to repair a call that failed (`{tool}`)",
    "task_analysis": "the analysis before the work",
    "plan_generation": "the planner; in the dialect `array`, how the next step is chosen",
    "reflection": "the look at the results of a round",
    "rewrite": "how a question is made to stand alone (`{today}`)",
    "observer": "the judgement of the progress",
    "citations": "the rules for citing (`{most}`)",
    "citations_second_pass": "how citations are put into a finished answer (`{most}`)",
    "memory_summary": "what is remembered of a tool call",
    "memory_rank": "which memories matter",
    "context_summary": "how old messages are summarised (`{hint}`, `{words}`)",
    "select_tools": "which tools are offered",
    "loop_at_once": "the result of a call that repeats one of the same reply",
    "loop_nudge": "the first warning about a repeated call",
    "loop_withdraw": "the note when repeated tools are withdrawn",
    "loop_stop": "the note when only an answer is allowed",
    "give_up": "the note to a model that gives up",
    "example_value": "the note about a value from the examples (`{value}`, `{name}`, `{tool}`)",
    "unsourced_call": "the note about an argument that comes from nowhere",
    "inner_call": "the note about a tool that is called inside another call (`{value}`, `{tool}`)",
    "unsourced_answer": "the note about an answer that comes from nowhere",
    "untried": "the note about an answer without any tool",
    "dag_planner": "the planner of steps",
    "dag_analyzer": "the judge of what the steps have found",
    "dag_mode": "the choice between a loop and a plan",
    **{f"dialect.{name}": "the whole format" for name in ("json", "action", "array", "schema", "direct", "brief")},
    "dialect.code": "the whole format (`{tools}`, `{python}`, `{call}`)",
    "dialect.native": "an addition to the system prompt",
    **{
        f"dialect.{name}.reformat": "the request to write an unreadable reply again (`{problem}`)"
        for name in ("json", "action", "array", "schema", "direct", "brief", "code", "native")
    },
}
"""Each prompt and what it is for."""
_NAMES_OF_0_1 = ("insist", "borrowed", "invented_call", "invented_answer", "invented_untried")


def check_prompt_names(given: Iterable[str], plugins: Iterable[object] = ()) -> None:
    """A prompt that nothing reads is a mistake: say which one was meant. Plug-ins name their own in `prompts`."""
    own = {str(name) for plugin in plugins for name in getattr(plugin, "prompts", ())}
    for name in given:
        if name in PROMPTS or name in _NAMES_OF_0_1 or name in own:
            continue
        known = sorted({*PROMPTS, *own})
        raise ConfigError(f"unknown prompt {name!r}; {nearest(str(name), known)}")
