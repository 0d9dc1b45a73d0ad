// One question and everything that came of it, on a thread with a knot for each step.

import { memo } from "../memo";
import { useState } from "preact/hooks";
import { isExported } from "../embedded";
import { count, money, plural, seconds, when } from "../format";
import { again, inspect, store, takeUp, watchAgain, type Turn } from "../model";
import { useStore } from "../store";
import { GroundsButton } from "../grounds/asked";
import { Failed } from "../reading";
import type { Compaction, End, Thought } from "../items";
import { noteOf, wordsOf, type RunView, type Step as StepItem } from "../view";
import { Answer, copy } from "./answer";
import { Approvals } from "./approvals";
import { Dag } from "./dag";
import { Again, Check, Chevron, Copy, Lens } from "./icons";
import { ProviderCard } from "./provider";
import { Question } from "./question";
import { ToolCard } from "./tool";

export const TurnView = memo(function TurnView({ turn }: { turn: Turn }) {
  const { view } = turn;
  const working = !view.done;
  return (
    <article class="turn" aria-label={`Question: ${turn.question.slice(0, 80)}`} aria-busy={working}>
      <Question turn={turn} />
      {view.dag.length > 0 && <Dag steps={view.dag} round={view.round} />}
      {view.checklist.length > 0 && <Checklist steps={view.checklist} />}
      <Steps turn={turn} />
      {view.waiting.length > 0 && !isExported && <Approvals run={turn.run} calls={view.waiting} />}
      {working && (isExported || (!view.waiting.length && !view.answer)) && <Activity turn={turn} />}
      {view.error && <Failure turn={turn} />}
      {view.speaker && (
        <p class="speaker quiet">
          {view.done ? "Answered by" : "Now speaking:"} <strong>{view.speaker}</strong>
        </p>
      )}
      {view.answer && <Answer text={view.answer} open={view.answering} run={turn.run} items={view.steps} />}
      {view.done && <Ledger run={turn.run} done={view.done} />}
      {view.done && <Foot turn={turn} />}
    </article>
  );
});

/** How many of the last steps of a run are in the page at first, and how many more each click brings. */
const MOST_STEPS = 200;

function Steps({ turn }: { turn: Turn }) {
  const [shown, setShown] = useState(isExported ? Infinity : MOST_STEPS);
  const { steps: items } = turn.view;
  if (!items.length) return null;
  const earlier = Math.max(0, items.length - shown);
  return (
    <>
      {earlier > 0 && (
        <button type="button" class="link earlier" onClick={() => setShown(shown + MOST_STEPS)}>
          {plural(earlier, "earlier step")}: show {Math.min(earlier, MOST_STEPS)} more
        </button>
      )}
      <ol class="thread" aria-label="Steps" start={earlier + 1}>
        {items.slice(earlier).map((item) => (
          <li key={item.id} class={`knot of-${KNOTS[item.kind] ?? item.kind}`}>
            <Step item={item} run={turn.run} />
          </li>
        ))}
      </ol>
    </>
  );
}

const KNOTS: Record<string, string> = { call: "tool", provider_use: "provider", notice: "note", retry: "note", pause: "note" };

const Step = memo(function Step({ item, run }: { item: StepItem; run: string }) {
  switch (item.kind) {
    case "call":
      return <ToolCard use={item} run={run} />;
    case "thought":
      return <ThoughtView thought={item} />;
    case "interrupt":
      return (
        <div class="interrupt">
          <span class="quiet">You added</span>
          <p>{item.texts.join("\n\n")}</p>
        </div>
      );
    case "compaction":
      return <Divider compaction={item} />;
    case "provider_use":
      return <ProviderCard used={item} />;
    default:
      return <Aside note={noteOf(item)} />;
  }
});

/** Replies that are written for the engine, not for people. */
const MACHINE = /^\s*(\{|\[|```|Action\s*:)/;

function ThoughtView({ thought }: { thought: Thought }) {
  const [whole, setWhole] = useState(false);
  const open = thought.state === "open";
  const words = wordsOf(thought);
  if (open && MACHINE.test(words)) return <p class="thought quiet">Writing…</p>;
  const text = words.split(/\n?Action\s*:/)[0] ?? "";
  const long = text.length > 320 && !open;
  return (
    <div class={`thought${long && !whole ? " cut" : ""}`}>
      <p>{text}</p>
      {long && (
        <button type="button" class="link" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? "Less" : "More"}
        </button>
      )}
    </div>
  );
}

function Divider({ compaction }: { compaction: Compaction }) {
  return (
    <details class="divider">
      <summary>
        <span>
          Earlier steps were summarised: {plural(compaction.original_messages, "message")} reduced to {compaction.kept_messages}
        </span>
      </summary>
      {compaction.summary && <p>{compaction.summary}</p>}
    </details>
  );
}

function Aside({ note }: { note: { title: string; text: string } }) {
  if (!note.text) return <p class="note quiet">{note.title}</p>;
  return (
    <details class="note quiet unfold">
      <summary>
        <Chevron size={14} /> {note.title} <span class="note-text">{note.text}</span>
      </summary>
      <p>{note.text}</p>
    </details>
  );
}

function Checklist({ steps }: { steps: RunView["checklist"] }) {
  const done = steps.filter((step) => step.done).length;
  return (
    <section class="checklist" aria-label="Plan">
      <header>
        <strong>Plan</strong>
        <span class="quiet">
          {done} of {steps.length}
        </span>
        <progress value={done} max={steps.length} aria-label="Plan" />
      </header>
      <ol>
        {steps.map((step, place) => (
          <li key={place} class={step.done ? "done" : ""}>
            <span class="box" role="img" aria-label={step.done ? "done" : "open"}>
              {step.done && <Check size={13} />}
            </span>
            {step.text}
          </li>
        ))}
      </ol>
    </section>
  );
}

function Activity({ turn }: { turn: Turn }) {
  if (isExported) return turn.view.activity ? <p class="activity">Not finished: {turn.view.activity}</p> : null;
  if (turn.refused) {
    const why = turn.refused === 404 ? "The server does not know it (any more)." : `The server answered ${turn.refused}.`;
    return <Failed what="This run cannot be shown" why={why} again={() => watchAgain(turn.run)} />;
  }
  if (turn.left) {
    return (
      <div class="left">
        <span>This run was interrupted. Nothing was lost.</span>
        <button type="button" class="primary" onClick={() => void takeUp(turn.run)}>
          Resume
        </button>
      </div>
    );
  }
  const away = turn.connection === "waiting";
  return (
    <p class={`activity${away ? " away" : ""}`}>
      <span class="shuttle" aria-hidden="true" />
      <span>{away ? "Connection lost. Trying again; nothing is lost" : turn.view.activity || "Working"}</span>
    </p>
  );
}

/** What happened, what was kept of it, and what can be done next. */
function Failure({ turn }: { turn: Turn }) {
  const { view } = turn;
  if (!view.error) return null;
  const found = view.steps.filter((item) => item.kind === "call" && item.state === "done").length;
  return (
    <section class="failure" role="group" aria-label="The run failed">
      <strong>This did not work</strong>
      <p>{view.error.message}</p>
      {view.error.partial && view.error.partial !== view.error.message && (
        <details>
          <summary>What was found before</summary>
          <p class="pre">{view.error.partial}</p>
        </details>
      )}
      {view.done && !isExported && (
        <>
          <p class="quiet">{found ? `Kept: the ${plural(found, "result")} of its tools. Trying again goes on from there.` : "Nothing is lost: the question and the log are kept."}</p>
          <div class="decision">
            <button type="button" class="primary" onClick={() => void again(turn.run, "", true)}>
              Try again
            </button>
            {found > 0 && (
              <button type="button" onClick={() => void again(turn.run)}>
                Start over
              </button>
            )}
            <button type="button" onClick={() => store.set({ inspected: turn.run })}>
              See what happened
            </button>
          </div>
        </>
      )}
    </section>
  );
}

const ENDS: Record<string, string> = {
  cancelled: "Stopped",
  limit: "Reached its limit of steps",
  budget: "Used up its budget",
  stuck: "Went in circles",
  empty: "No answer came",
  error: "Failed",
};

const ACTS = { done: "Done", failed: "Not done", refused: "Not done", unknown: "Outcome unknown" };

/** What became of the calls that act, from the record: right whatever the answer says. */
function Ledger({ run, done }: { run: string; done: End }) {
  const told = done.ledger.filter((entry) => entry.state !== "done" || entry.declared);
  if (!told.length) return null;
  return (
    <ul class="ledger" aria-label="What was done">
      {told.map((entry) => (
        <li key={entry.call_id}>
          <strong class={entry.state === "done" ? "" : "warn"}>{ACTS[entry.state]}</strong>{" "}
          <button type="button" class="link" onClick={() => inspect(entry.run || run, entry.seq ?? 0)}>
            {entry.tool}
          </button>
          {Object.entries(entry.args ?? {}).map(([name, value]) => ` · ${name} ${String(value)}`)}
          <span class="quiet">
            {entry.result && ` · ${entry.result}`}
            {entry.time && ` · ${when(entry.time)}`}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Foot({ turn }: { turn: Turn }) {
  const done = turn.view.done;
  const usage = turn.view.cost?.usage;
  const inspected = store.get().inspected === turn.run;
  const several = useStore(store, (now) => new Set(now.lines.map((line) => line.model)).size > 1);
  if (!done) return null;
  const facts = [
    ENDS[done.stop_reason],
    several && (turn.view.model || turn.model),
    turn.view.dag.length ? plural(turn.view.dag.length, "step") : plural(done.iterations, "iteration"),
    usage?.tool_calls ? plural(usage.tool_calls, "tool call") : "",
    turn.view.cost?.total_tokens ? `${count(turn.view.cost.total_tokens)} tokens` : "",
    money(usage?.cost ?? null),
    seconds(done.elapsed),
  ].filter(Boolean);
  return (
    <footer class="turn-foot">
      <span class={done.success ? "" : "warn"}>{facts.join(" · ")}</span>
      <span class="actions">
        {done.stop_reason === "cancelled" && !isExported && (
          <button type="button" class="link" onClick={() => void again(turn.run, "", true)}>
            Go on
          </button>
        )}
        {!isExported && (
          <button type="button" class="icon" aria-label="Answer again" title="Answer again" onClick={() => void again(turn.run)}>
            <Again size={16} />
          </button>
        )}
        {turn.view.answer && (
          <button type="button" class="icon" aria-label="Copy the answer" title="Copy" onClick={() => void copy(turn.view.answer)}>
            <Copy size={16} />
          </button>
        )}
        {turn.view.answer && !isExported && <GroundsButton run={turn.run} />}
        {!isExported && (
          <button type="button" class="icon" aria-label="Inspect this run" title="Inspect (Alt+I)" aria-pressed={inspected} onClick={() => store.set({ inspected: turn.run })}>
            <Lens size={16} />
          </button>
        )}
      </span>
    </footer>
  );
}
