"""The file that a conversation is exported to is drawn by the page's own script, and does nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from server.test_exported import run
from treadle._server.exported import html_of
from treadle._types import events as ev
from treadle._types.messages import ToolCall

from .conftest import ROOT
from .test_hostile import FETCHING
from .test_markdown import RICH

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HOSTILE = (
    FETCHING.format(a="https://e.example", host="e.example")
    + "\n</script><script>owned()</script><img src=x onerror=owned()><svg onload=owned()><!--<script>\n"
    + "[a](javascript:owned()) <a href='javascript:owned()'>x</a> <iframe srcdoc='<script>owned()</script>'></iframe>\n"
    + "$$\\text{<img src=x onerror=owned()>}$$ `</code><script>owned()</script>` <base href=https://e.example>\n"
    + "<math><mtext><table><mglyph><style><!--</style><img title='--><img src=x onerror=owned()>'>\n"
)


def opened(context: Any, file: Path, page: str) -> tuple[Any, list[str]]:
    """The file in a browser, and what that asked for."""
    file.write_text(page, "utf-8")
    tab, asked = context.new_page(), list[str]()

    def note(request: Any) -> None:
        asked.append(request.url)

    tab.on("request", note)
    tab.goto(file.as_uri())
    tab.locator("main .turn").first.wait_for()
    return tab, asked


def test_the_file_in_a_browser(browser: Any, tmp_path: Path, axe: Callable[..., list[str]]):
    draw = ev.ToolDone("c", "draw", 1, "drawn", artifacts=(ev.Artifact("chart.png", PIXEL, "image/png", base64=True),))
    passages = ev.ToolDone("d", "find", 1, '{"chunks": [{"id": 7, "document": "Manual", "text": "Read me."}]}')
    answer = f"{RICH}\n![the chart](out/chart.png)"
    events = [
        ev.RunStarted("Compare", model="m"), ev.ToolStarted(ToolCall("c", "draw", {}), 1), draw,
        ev.ToolStarted(ToolCall("d", "find", {"q": "x"}), 1), passages, ev.AnswerDone(answer, "loop"),
        ev.RunFinished("answer", answer),
    ]  # fmt: skip
    records = [ev.Record("r", seq, 1.8e9, event) for seq, event in enumerate(events)]
    context = browser.new_context()
    page, asked = opened(context, tmp_path / "run.html", html_of([records]))
    assert page.locator(".answer math").count() == 2
    assert page.locator("img[src^='data:image/png']").count() == 2, "in the answer and below the call"
    page.locator(".answer button.cite[value='ID:7']").click()
    assert "Read me." in page.locator(".source-card").inner_text()
    assert not page.locator(".tool-body").first.is_visible()
    page.get_by_role("button", name="Open all").click()
    assert page.locator(".tool-body").first.is_visible()
    page.locator(".log summary").click()
    assert page.locator(".log pre").inner_text().count("\n") == len(records) - 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    colours = "[...document.querySelectorAll('.answer pre span')].map((one) => getComputedStyle(one).color)"
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert len(set(page.evaluate(colours))) >= 4
        assert axe(page) == []
    assert {address.partition(":")[0] for address in asked[1:]} <= {"data"}, "it needs nothing else"
    context.close()


def test_nothing_that_a_run_wrote_acts(browser: Any, tmp_path: Path):
    context = browser.new_context()
    context.add_init_script("window.owned = () => { window.isOwned = true; }")
    page, asked = opened(context, tmp_path / "run.html", html_of([run(HOSTILE), run(HOSTILE, "r.c")], HOSTILE))
    page.get_by_role("button", name="Open all").click()
    for summary in page.locator(".log summary").all():
        summary.click()
    for link in page.locator("main a").all():
        link.dispatch_event("mouseover")
        assert (link.get_attribute("href") or "https:").startswith("https:")
    assert page.evaluate("[window.isOwned ?? false, document.querySelectorAll('script').length]") == [False, 2]
    assert page.locator("main :is(iframe, form, style, base, meta, object, embed, video)").count() == 0
    assert page.locator(".turn").count() == 2
    assert asked == [(tmp_path / "run.html").as_uri()]
    context.close()


def test_its_script_asks_nobody(built_page: None):
    script = (ROOT / "src/treadle/_server/static/exported/page.js").read_text("utf-8")
    for name in ("fetch(", "XMLHttpRequest", "EventSource", "WebSocket", "sendBeacon", "import("):
        assert name not in script
