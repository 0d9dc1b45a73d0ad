"""Runs as one page of HTML that needs nothing else, with a replay: what `runs export` writes, and the page."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape

import msgspec

from treadle._journal.pages.markdown import html_of_markdown
from treadle._types import events as ev
from treadle._types.state import CONVERSATION, RunState
from treadle._view import items as it
from treadle._view.fold import RunView

_STYLE = """
:root { color-scheme: light dark; background: Canvas; color: CanvasText; } a { color: light-dark(#1f5f9e, #8dbdf0); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 0 auto; padding: 0 1rem 4rem; }
body { overflow-wrap: break-word; } header { position: sticky; top: 0; padding: .6rem 0; background: Canvas; }
header { display: flex; flex-wrap: wrap; gap: .8rem; align-items: center; border-bottom: 1px solid #8884; }
h1 { font-size: 1.1rem; margin: 0; flex: 1 1 20rem; }
h2 { font-size: 1rem; margin: 2rem 0 .5rem; } section { padding-bottom: 1.5rem; border-bottom: 1px solid #8883; }
pre, .text { white-space: pre-wrap; margin: .25rem 0; } pre { font: 13px/1.4 ui-monospace, monospace; overflow: auto; }
.question, .answer { border-left: 4px solid #4a7; padding-left: .8rem; } .answer { border-color: #47a; }
.thought, .quiet { opacity: .75; } summary { cursor: pointer; } code { font: 13px ui-monospace, monospace; }
details { border: 1px solid #8886; border-radius: 6px; padding: .3rem .7rem; margin: .5rem 0; }
.failed { border-color: #c44; } .off { display: none; } img { max-width: 100%; } .table { overflow-x: auto; }
.math math { font-size: 1.08em; } div.math { overflow: auto hidden; padding: .3rem 0; text-align: center; }
.aligned mtd:nth-child(odd) { text-align: right; } .aligned mtd:nth-child(even), .cases mtd { text-align: left; }
.boxed { border: 1px solid currentcolor; padding: .2em; } .footnote { font-size: .9em; }
.tok-k { color: light-dark(#7a3e9d, #c9a0ec); font-weight: 560; } .tok-s { color: light-dark(#2f6b3c, #9bcf9f); }
.tok-n { color: light-dark(#9a4a10, #e5b07a); } .tok-f { color: light-dark(#1f5f9e, #8dbdf0); }
.tok-a { color: light-dark(#8a3f55, #ec9fb0); } .tok-c { opacity: .75; font-style: italic; }
.tok-i { color: light-dark(#2f6b3c, #9bcf9f); } .tok-d { color: light-dark(#a3312a, #f0a09a); }
table { border-collapse: collapse; } th, td { padding: .3rem .8rem; border-bottom: 1px solid #8884; text-align: left; }
"""
_SCRIPT = """
const steps = [...document.querySelectorAll(".step")], at = document.getElementById("at");
const of = document.getElementById("of"), play = document.getElementById("play");
let timer = 0;
function show(n) {
  at.value = n;
  of.textContent = `${n} of ${steps.length}`;
  steps.forEach((step, place) => step.classList.toggle("off", place >= n));
}
at.max = steps.length;
at.oninput = () => show(+at.value);
play.onclick = () => {
  clearInterval(timer);
  let n = 1;
  show(n);
  timer = setInterval(() => {
    show(++n);
    steps[n - 1]?.scrollIntoView({ block: "end" });
    if (n >= steps.length) clearInterval(timer);
  }, 700);
};
show(steps.length);
"""
_OWN = b64encode(sha256(_SCRIPT.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{_OWN}'"
"""What models and tools wrote is escaped; and if something slipped through, the browser would not load or run it."""
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def html_of(runs: Sequence[Sequence[ev.Record]], title: str = "") -> str:
    """The runs of a conversation, or one run, oldest first."""
    views = [_view(records) for records in runs]
    name = title or (views[0].state.question if views else "") or "A run"
    head = f"<title>{escape(_short(name))}</title><style>{_STYLE}</style>"
    meta = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
    size = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    body = "".join(_run(view, records) for view, records in zip(views, runs, strict=True))
    steps = '<button id="play" type="button">Replay</button><input id="at" type="range" min="1" aria-label="Step">'
    top = f'<header><h1>{escape(_short(name))}</h1>{steps}<output id="of"></output></header>'
    page = f"<head>{meta}{size}{head}</head><body>{top}<main>{body}</main><script>{_SCRIPT}</script></body>"
    return f"<!doctype html><html lang=en>{page}</html>\n"


def _view(records: Sequence[ev.Record]) -> RunView:
    view = RunView()
    for record in records:
        view.feed(record)
    return view


def _run(view: RunView, records: Sequence[ev.Record]) -> str:
    state, finished = view.state, view.state.finished
    answer = finished.answer if finished is not None else ""
    made = {record.event.call_id: record.event.artifacts for record in records if isinstance(record.event, ev.ToolDone)}
    parts = [_block("h2", "Question"), _step(_text(state.question, "question")), *map(_step, _steps(view, made))]
    if answer:
        written = html_of_markdown(answer, _pictures(made))
        parts.append(_step(f"{_block('h2', 'Answer')}<div class=answer>{written}</div>"))
    elif finished is not None:
        parts.append(_step(_text(f"{finished.stop_reason}: {finished.error or 'there is no answer'}", "answer")))
    return f"<section>{''.join(parts)}{_text(_facts(state, records), 'quiet')}{_log(records)}</section>"


def _step(html: str) -> str:
    """One of those that a replay shows after each other."""
    return f'<div class="step">{html}</div>'


def _pictures(made: Mapping[str, Sequence[ev.Artifact]]) -> Mapping[str, str]:
    """Return what the tools have drawn, by name, as it can stand in a file."""
    drawn = (one for artifacts in made.values() for one in artifacts)
    return {one.name: f"data:{one.mime};base64,{one.content}" for one in drawn if one.base64 and one.mime in _PICTURES}


def _steps(view: RunView, made: Mapping[str, Sequence[ev.Artifact]]) -> Iterator[str]:
    for item in view.items.values():
        match item:
            case it.Thought() if item.component in CONVERSATION and item.words and not item.is_answer:
                yield _text(item.words, "thought")
            case it.Call() if item.ended:
                yield _call(item, made.get(item.call_id, ()))
            case it.Interrupt():
                yield from (_text(f"> {text}", "question") for text in item.texts)
            case it.Decision(decided="answered"):
                yield _text(f"{item.tool} was answered by whoever called", "quiet")
            case it.Decision():
                yield _text(f"{item.tool} {item.decided}{f': {item.note}' if item.note else ''}", "quiet")
            case it.Compaction():
                sizes = f"{item.original_messages} messages to {item.kept_messages}"
                yield _text(f"context compacted: {sizes}", "quiet")
            case it.Notice() if item.level != "quiet":
                yield _text(f"{item.title}{f': {item.text}' if item.text else ''}", "quiet")
            case _:
                pass


def _call(call: it.Call, artifacts: Sequence[ev.Artifact]) -> str:
    args = msgspec.json.encode(call.args).decode()
    failed = ' class="failed"' if call.error else ""
    took = f"<span class=quiet>{call.elapsed:.2f} s {escape(call.error)}</span>"
    summary = f"<summary><code>{escape(call.tool)}</code> {escape(_short(args))} {took}</summary>"
    inside = f"<pre>{escape(args)}</pre><pre>{escape(call.content)}</pre>"
    drawn = "".join(
        f'<img src="data:{one.mime};base64,{escape(one.content)}" alt="{escape(one.summary or one.name)}">'
        for one in artifacts
        if one.base64 and one.mime in _PICTURES
    )
    return f"<details{failed}>{summary}{inside}</details>{drawn}"


def _facts(state: RunState, records: Sequence[ev.Record]) -> str:
    usage = state.usage
    cost = f" · ${usage.cost:.4f}" if usage.cost else ""
    end = state.finished.stop_reason if state.finished is not None else "not finished"
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(state.created))
    return f"{state.model} · {end} · {usage.total_tokens} tokens{cost} · {when} · run {records[0].run}"


def _log(records: Sequence[ev.Record]) -> str:
    """Everything that is recorded, for whoever wants to know more."""
    lines = "\n".join(escape(msgspec.json.encode(record).decode()) for record in records)
    return f"<details><summary>The log: {len(records)} records</summary><pre>{lines}</pre></details>"


def _text(text: str, kind: str) -> str:
    return f'<div class="text {kind}">{escape(text)}</div>'


def _block(tag: str, text: str) -> str:
    return f"<{tag}>{escape(text)}</{tag}>"


def _short(text: str, size: int = 120) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= size else flat[: size - 1] + "…"
