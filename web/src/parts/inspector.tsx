// The run inspector: its log as a timeline, what each component cost, and the exact request of any step.

import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../api";
import { say, store } from "../model";
import { useStore } from "../store";
import type { LogRecord, Run } from "../types";
import { Cost } from "./cost";
import { Close } from "./icons";
import { RequestView } from "./request";
import { Timeline } from "./timeline";

const SETTLE = 250;

export function Inspector({ run }: { run: string }) {
  const [tab, setTab] = useState<"timeline" | "cost">("timeline");
  const [body, setBody] = useState<Run | null>(null);
  const [records, setRecords] = useState<LogRecord[]>([]);
  const [request, setRequest] = useState<number | null>(null);
  const changed = useStore(store, (now) => now.turns.find((turn) => turn.run === run)?.view);
  const panel = useRef<HTMLElement>(null);

  useEffect(() => panel.current?.focus(), []);
  useEffect(() => {
    const timer = window.setTimeout(() => void load(), SETTLE);
    return () => window.clearTimeout(timer);
  }, [run, changed]);

  async function load(): Promise<void> {
    try {
      const found = [...records];
      for (let more = true; more; ) {
        const page = await api.records(run, found.at(-1)?.seq ?? -1);
        found.push(...page.records);
        more = page.more;
      }
      setRecords(found);
      setBody(await api.run(run));
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
  }

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
      {request === null ? (
        <>
          <div class="tabs" role="tablist" aria-label="Views">
            <Tab name="Timeline" chosen={tab === "timeline"} choose={() => setTab("timeline")} />
            <Tab name="Tokens and cost" chosen={tab === "cost"} choose={() => setTab("cost")} />
          </div>
          <div class="inspector-body" role="tabpanel" aria-label={tab === "cost" ? "Tokens and cost" : "Timeline"}>
            {tab === "timeline" ? <Timeline run={run} records={records} showRequest={setRequest} /> : body && <Cost run={body} />}
          </div>
        </>
      ) : (
        <RequestView run={run} seq={request} back={() => setRequest(null)} />
      )}
    </aside>
  );
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
        if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
        const next = (event.currentTarget.nextElementSibling ?? event.currentTarget.previousElementSibling) as HTMLElement | null;
        next?.focus();
        next?.click();
      }}
    >
      {name}
    </button>
  );
}
