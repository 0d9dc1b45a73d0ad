"""The layers of the source as a picture (SVG): imports only go down."""

from __future__ import annotations

LAYERS: list[list[tuple[str, str]]] = [
    [("_types", "values only: messages, events, state, errors")],
    [("_safety", "reading what strangers wrote; what is secret")],
    [("_view", "the log as items, which every surface draws")],
    [("_journal", "SQLite, Postgres, memory"), ("_models", "providers, retry, profiles, probe")],
    [("_dialects", "how an action is written and read")],
    [("_tools", "schemas, running, built-ins, MCP, sandbox")],
    [("_engine", "the run, the loop, acting, concluding, rendering")],
    [("_plugins", "one mechanism each, through hooks only")],
    [("_workspace", "the folder a run works in: trees, backends, tools")],
    [("_agent", "Agent, Conversation, presets")],
    [("_flows", "plans, background agents, direct calls")],
    [("_local", "models on this machine: runtime, reply policy, guards")],
    [("_inspect", "replay, compare, why, proofs, evaluation")],
    [("_config", "agents from files"), ("_durable", "Temporal"), ("_testing", "test tools")],
    [("_record", "recording programs of other engines")],
    [("_interop", "agents in Inspect, Harbor, Terminal-Bench, folders")],
    [("_server", "SSE, runs API, page")],
    [("_cli", "the terminal program")],
]
"""From the bottom up. tests/test_site.py compares it with the layers that tests/test_house.py checks."""

WIDTH, HEIGHT, GAP, EDGE = 720, 46, 12, 16


def picture() -> str:
    total = EDGE * 2 + len(LAYERS) * HEIGHT + (len(LAYERS) - 1) * GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}" role="img" '
        'aria-label="Layers of Treadle" font-family="system-ui, sans-serif" font-size="14">',
        "<style>rect{fill:#e4eeee;stroke:#2f5d62}text{fill:#24221f}.n{font-weight:700}.w{font-size:12px}"
        "path{stroke:#2f5d62}</style>",
    ]
    for row, folders in enumerate(reversed(LAYERS)):
        top = EDGE + row * (HEIGHT + GAP)
        width = (WIDTH - 2 * EDGE - GAP * (len(folders) - 1)) / len(folders)
        for column, (name, description) in enumerate(folders):
            left = EDGE + column * (width + GAP)
            middle = left + width / 2
            parts.append(f'<rect x="{left:.0f}" y="{top}" width="{width:.0f}" height="{HEIGHT}" rx="6"/>')
            parts.append(f'<text class="n" x="{middle:.0f}" y="{top + 19}" text-anchor="middle">{name}/</text>')
            parts.append(f'<text class="w" x="{middle:.0f}" y="{top + 36}" text-anchor="middle">{description}</text>')
        if row:
            parts.append(f'<path d="M{WIDTH / 2:.0f} {top - GAP + 1}v{GAP - 4}m-4 -4l4 4l4 -4" fill="none"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"
