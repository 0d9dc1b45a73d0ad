// The run inspector: its log as a timeline and as bars, what each component cost, what the cache could use again, and
// the exact request of any step, beside another one if wanted. A bundle of its own, loaded when it is first shown.

import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../api";
import { store } from "../model";
import { Failed, useReading, Waiting } from "../reading";
import { useStore } from "../store";
import type { LogRecord, Run } from "../types";
import "../desk/desk.css";
import { Cache } from "../desk/cache";
import { Files } from "../desk/files";
import { Notes } from "../desk/notes";
import { Waterfall } from "../desk/waterfall";
import { WhyView } from "../desk/why";
import { Cost } from "./cost";
import { Close } from "./icons";
import { RequestView } from "./request";
import { Timeline } from "./timeline";

const SETTLE = 250;
const TABS = ["Timeline", "Files", "Cost", "Waterfall", "Cache", "Why"] as const;
type Name = (typeof TABS)[number];

export function Inspector({ run }: { run: string }) {
  const [tab, setTab] = useState<Name>("Timeline");
  const [jumped, setJumped] = useState(-1);
  const [beside, setBeside] = useState(-1);
  const have = useRef<LogRecord[]>([]);
  const [request, setRequest] = useState<number | null>(null);
  const changed = useStore(store, (now) => now.turns.find((turn) => turn.run === run)?.view);
  const panel = useRef<HTMLElement>(null);

  const wanted = useStore(store, (now) => (now.record?.run === run ? now.record : null));
  useEffect(() => panel.current?.focus(), []);
  useEffect(() => {
    if (!wanted) return;
    setRequest(null);
    jump(wanted.seq);
  }, [wanted]);

  /** All of it at once: what came later would push away what somebody is about to click. */
  async function load(): Promise<{ records: LogRecord[]; body: Run }> {
    const found = [...have.current];
    for (let more = true; more; ) {
      const page = await api.records(run, found.at(-1)?.seq ?? -1);
      found.push(...page.records);
      more = page.more;
    }
    const body = await api.run(run);
    have.current = found;
    return { records: found, body };
  }

  const reading = useReading(load, run, changed, SETTLE);
  const { records, body } = reading.value ?? { records: [], body: null };
  const asked = records.filter((record) => record.type === "think_started");
  const show = (seq: number, other = -1) => {
    setBeside(other);
    setRequest(seq);
  };
  const jump = (seq: number) => {
    setJumped(seq);
    setTab("Timeline");
  };
  return (
    <aside class="inspector" aria-label="Run inspector" ref={panel} tabIndex={-1}>
      <header class="inspector-head">
        <div>
          <h2>Inspector</h2>
          <p class="quiet" title={run}>
            {body ? `${body.agent} · ${body.model} · ${body.dialect}` : run}
          </p>
        </div>
        <button type="button" class="icon" aria-label="Close the inspector" title="Close (Esc)" onClick={() => store.set({ inspected: "" })}>
          <Close />
        </button>
      </header>
      {!body && (
        <div class="inspector-body">
          <Waiting reading={reading} what="This run could not be read" />
        </div>
      )}
      {body && reading.failed && <Failed what="This may be out of date" why={reading.failed} again={reading.again} />}
      {body && <Notes run={run} kept={body} />}
      {!body ? null : request === null ? (
        <>
          <div class="tabs" role="tablist" aria-label="Views">
            {TABS.filter((name) => name !== "Files" || records.some((record) => record.type === "tree_saved")).map((name) => (
              <Tab key={name} name={name} chosen={tab === name} choose={() => setTab(name)} />
            ))}
          </div>
          <div class="inspector-body" role="tabpanel" aria-label={tab}>
            {tab === "Timeline" && <Timeline run={run} records={records} showRequest={show} jumped={jumped} asked={wanted?.asked ?? 0} />}
            {tab === "Files" && <Files run={run} records={records} />}
            {tab === "Cost" && <Cost run={body} />}
            {tab === "Waterfall" && <Waterfall records={records} jump={jump} />}
            {tab === "Why" && <WhyView run={run} body={body} steps={stepsOf(records)} />}
            {tab === "Cache" && <Cache run={run} upTo={records.length} showRequest={show} />}
          </div>
        </>
      ) : (
        <RequestView run={run} seq={request} beside={beside} requests={asked} choose={setBeside} back={() => setRequest(null)} />
      )}
    </aside>
  );
}

/** The numbers of the steps in which the loop asked the model. */
function stepsOf(records: LogRecord[]): number[] {
  const asked = records.filter((record) => record.type === "think_started" && record.event.component === "loop");
  return [...new Set(asked.map((record) => Number(record.event.iteration)))];
}

function Tab({ name, chosen, choose }: { name: string; chosen: boolean; choose: () => void }) {
  return (
    <button
      type="button"
      role="tab"
      aria-selected={chosen}
      tabIndex={chosen ? 0 : -1}
      onClick={choose}
      onKeyDown={(event) => {
        const here = event.currentTarget;
        const row = here.parentElement;
        let next: Element | null | undefined;
        if (event.key === "ArrowRight") next = here.nextElementSibling ?? row?.firstElementChild;
        else if (event.key === "ArrowLeft") next = here.previousElementSibling ?? row?.lastElementChild;
        if (!(next instanceof HTMLElement)) return;
        next.focus();
        next.click();
      }}
    >
      {name}
    </button>
  );
}
