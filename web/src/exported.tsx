// The page in a file of its own: the runs that the file carries, which can be looked at and replayed, and nothing else.

import "./styles/base.css"; // first: it says which layer of styles is above which
import DOMPurify from "dompurify";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { embedded, type EmbeddedRun } from "./embedded";
import { plural } from "./format";
import type { Turn as TurnItem } from "./items";
import type { Turn } from "./model";
import { Guard } from "./parts/guard";
import { Notice } from "./parts/notice";
import { TurnView } from "./parts/turn";
import { applied, EMPTY } from "./view";
import "./styles/layout.css";
import "./styles/thread.css";
import "./styles/markdown.css";
import "./styles/exported.css";

const PACE = 700;

// In a file, an address without a host leads to other files of the reader, or to a share on somebody's machine.
DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (!/^(?:https?|mailto):/i.test(node.getAttribute("href") ?? "")) node.removeAttribute("href");
});

function turnOf({ run, items }: EmbeddedRun): Turn {
  const { agent = "", model = "", question = "", created = 0 } = (items.find((item) => item.kind === "turn") as TurnItem | undefined) ?? {};
  const view = applied(EMPTY, [{ id: "", event: "items", data: { items: items as never } }]);
  return { run, agent, model, question, created, follows: "", files: [], view, connection: "closed", left: false, refused: 0 };
}

/** A question, its steps and how it ended: what a replay shows after each other. */
const lengthOf = (turn: Turn): number => turn.view.steps.length + 2;

/** A turn after so many of them. */
function until(turn: Turn, shown: number): Turn {
  if (shown >= lengthOf(turn)) return turn;
  return { ...turn, view: { ...turn.view, steps: turn.view.steps.slice(0, shown - 1), answer: "", error: null, done: null, activity: "" } };
}

function Log({ run, turn }: { run: EmbeddedRun; turn: Turn }) {
  const [open, setOpen] = useState(false);
  const facts = [turn.agent, turn.model, new Date(turn.created * 1000).toLocaleString(), `run ${run.run}`].filter(Boolean).join(" · ");
  return (
    <>
      <p class="quiet facts">{facts}</p>
      <details class="log" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>The log: {plural(run.records.length, "record")}</summary>
        {open && <pre tabIndex={0}>{run.records.map((record) => JSON.stringify(record)).join("\n")}</pre>}
      </details>
    </>
  );
}

function Exported({ title, runs }: { title: string; runs: EmbeddedRun[] }) {
  const [turns] = useState(() => runs.map(turnOf));
  const total = turns.reduce((sum, turn) => sum + lengthOf(turn), 0);
  const [at, setAt] = useState(total);
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return;
    const timer = window.setInterval(() => setAt((now) => Math.min(total, now + 1)), PACE);
    return () => window.clearInterval(timer);
  }, [playing]);
  useEffect(() => {
    if (playing) document.querySelector(".talk > :last-child")?.scrollIntoView({ block: "end" });
    if (at >= total) setPlaying(false);
  }, [at]);
  let before = 0;
  return (
    <>
      <header class="head">
        <h1>{title}</h1>
        <button type="button" onClick={() => (setAt(1), setPlaying(true))}>
          Replay
        </button>
        <input type="range" min={1} max={total} value={at} aria-label="Step" onInput={(event) => (setPlaying(false), setAt(Number(event.currentTarget.value)))} />
        <output>
          {at} of {total}
        </output>
        <button type="button" onClick={() => document.querySelectorAll<HTMLDetailsElement>(".turn details").forEach((one) => (one.open = true))}>
          Open all
        </button>
      </header>
      <main class="talk">
        {turns.map((turn, place) => {
          const shown = at - before;
          before += lengthOf(turn);
          return (
            shown > 0 && (
              <section key={turn.run}>
                <Guard what="This turn cannot be shown">
                  <TurnView turn={until(turn, shown)} />
                </Guard>
                <Log run={runs[place] as EmbeddedRun} turn={turn} />
              </section>
            )
          );
        })}
      </main>
      <Notice />
    </>
  );
}

if (embedded) {
  const place = document.getElementById("app") as HTMLElement;
  place.replaceChildren(); // the words for readers without scripts
  render(<Exported {...embedded} />, place);
}
