"""The bar chart of a report."""

from __future__ import annotations

from xml.etree import ElementTree

from treadle._inspect.evals.report import Bar, bar_chart


def test_it_is_well_formed_svg_and_to_scale():
    chart = bar_chart(
        [("all", [Bar("A & co", 0.5, 0.25, 0.75, "5/10"), Bar("B", 1.0, 0.7, 1.0, "10/10")])], "Solved <1>"
    )
    tree = ElementTree.fromstring(chart)
    assert tree.get("aria-label") == "Solved <1>"
    bars = [float(bar.get("width") or 0) for bar in tree.iter("rect") if bar.get("width") != "10"]
    assert bars == [270.0, 540.0]
    assert [title.text for title in tree.iter("title")] == ["A & co: 5/10", "B: 10/10"]
    intervals = [path.get("d") for path in tree.iter("path")]
    assert str(intervals[0]).startswith("M285.0 ")
    colours = {bar.get("fill") for bar in tree.iter("rect")}
    assert len(colours) == 2


def test_one_variant_needs_no_legend():
    chart = bar_chart([("all", [Bar("only", 0.0, 0.0, 0.2)])], "t")
    assert "only</text>" not in chart
