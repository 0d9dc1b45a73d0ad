// When what happened: model calls, tool calls and waiting as bars, those at the same time below each other.

import { brief, seconds } from "../format";
import type { Json, LogRecord } from "../types";

export interface Bar {
  kind: "model" | "tool" | "wait";
  name: string;
  about: string;
  seq: number;
  start: number;
  end: number;
  failed: boolean;
  open: boolean;
}

export function bars(records: LogRecord[]): Bar[] {
  const found: Bar[] = [];
  const under = new Map<string, Bar>();
  const last = records.at(-1)?.time ?? 0;
  const begin = (key: string, bar: Omit<Bar, "end" | "failed" | "open">) => {
    const made = { ...bar, end: last, failed: false, open: true };
    under.set(key, made);
    found.push(made);
  };
  const end = (key: string, time: number, failed = false) => {
    const bar = under.get(key);
    if (!bar) return;
    Object.assign(bar, { end: time, failed, open: false });
    under.delete(key);
  };
  for (const { seq, time, type, event } of records) {
    const think = `think ${event.component} ${event.iteration}`;
    if (type === "think_started") begin(think, { kind: "model", name: String(event.component), about: `iteration ${event.iteration}`, seq, start: time });
    else if (type === "think_done") end(think, time, !!event.problem);
    else if (type === "think_failed") {
      if (event.wait === null || event.wait === undefined) end(think, time, true);
    } else if (type === "tool_started") {
      const call = event.call as { id: string; name: string; args?: Record<string, Json> };
      begin(`tool ${call.id}`, { kind: "tool", name: call.name, about: brief(call.args ?? {}), seq, start: time });
    } else if (type === "tool_done") end(`tool ${event.call_id}`, time, !!event.error);
    else if (type === "step_started") begin(`step ${event.step}`, { kind: "tool", name: String(event.step), about: "step", seq, start: time });
    else if (type === "step_done") end(`step ${event.step}`, time, !!event.error);
    else if (type === "paused") begin("wait", { kind: "wait", name: "waits", about: String(event.reason ?? ""), seq, start: time });
    else if (type === "resumed") end("wait", time);
    else if (type === "run_finished") for (const key of [...under.keys()]) end(key, time);
  }
  return found;
}

const KINDS = [["model", "model"], ["tool", "tools"], ["wait", "waiting"]] as const;

export function Waterfall({ records, jump }: { records: LogRecord[]; jump: (seq: number) => void }) {
  const found = bars(records);
  const start = records[0]?.time ?? 0;
  const whole = Math.max(0.001, (records.at(-1)?.time ?? 0) - start);
  const spent = (kind: Bar["kind"]) => found.filter((bar) => bar.kind === kind).reduce((sum, bar) => sum + bar.end - bar.start, 0);
  return (
    <div class="waterfall">
      <p class="quiet">
        {KINDS.filter(([kind]) => found.some((bar) => bar.kind === kind)).map(([kind, name]) => (
          <span key={kind}>
            <i class={`key ${kind}`} /> {name} {seconds(spent(kind))}{" "}
          </span>
        ))}
        of {seconds(whole)}
      </p>
      <ol>
        {found.map((bar) => {
          const left = (100 * (bar.start - start)) / whole;
          const wide = Math.max(0.6, (100 * (bar.end - bar.start)) / whole);
          const long = bar.open ? "not ended" : seconds(bar.end - bar.start);
          return (
            <li key={bar.seq}>
              <button type="button" class="fall" onClick={() => jump(bar.seq)} title={`${bar.name} ${bar.about}`}>
                <span class="fall-name">{bar.name}</span>
                <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                  <rect class={`${bar.kind}${bar.failed ? " failed" : ""}`} x={Math.min(left, 99.4)} width={wide} y="1" height="8" />
                </svg>
                <span class="fall-time">{long}</span>
                <span class="visually-hidden">{`${bar.kind}, from ${seconds(bar.start - start)}${bar.failed ? ", failed" : ""}. Show record ${bar.seq}`}</span>
              </button>
            </li>
          );
        })}
      </ol>
      {!found.length && <p class="quiet">Nothing has begun yet.</p>}
    </div>
  );
}
