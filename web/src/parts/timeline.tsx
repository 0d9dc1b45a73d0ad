import { useEffect, useRef, useState } from "preact/hooks";
import { brief, pretty, seconds } from "../format";
import { fork } from "../model";
import type { Json, LogRecord } from "../types";
import { Fork, Lens } from "./icons";

interface Props {
  run: string;
  records: LogRecord[];
  showRequest: (seq: number) => void;
  /** The record to show first, -1 for none. */
  jumped: number;
  /** How often a record was asked for from outside: the same one can be asked for again. */
  asked?: number;
}

export function Timeline({ run, records, showRequest, jumped, asked = 0 }: Props) {
  const [open, setOpen] = useState(jumped);
  const [wanted, setWanted] = useState("");
  const list = useRef<HTMLOListElement>(null);
  const [forking, setForking] = useState(-1);
  const began = records[0]?.time ?? 0;
  const number = /^#?(\d+)$/.exec(wanted.trim())?.[1];
  const words = number === undefined ? wanted.trim().toLowerCase() : "";
  const shown = words ? records.filter((record) => `${label(record)} ${record.type} ${summary(record)}`.toLowerCase().includes(words)) : records;
  const goTo = (seq: number) => {
    setOpen(seq);
    requestAnimationFrame(() => {
      const button = list.current?.querySelector<HTMLElement>(`[data-seq="${seq}"] button`);
      button?.scrollIntoView({ block: "center" });
      if (asked) button?.focus({ preventScroll: true });
    });
  };
  useEffect(() => void (jumped >= 0 && goTo(jumped)), [jumped, asked]);
  const origin = records.find((record) => record.type === "forked")?.event;
  return (
    <>
    <form
      class="find"
      role="search"
      aria-label="Records"
      onSubmit={(event) => {
        event.preventDefault();
        if (number !== undefined) goTo(Number(number));
      }}
    >
      <input type="search" aria-label="Filter records, or go to one by its number" placeholder="Filter, or a number and Enter" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
      {origin && <a href={`#/compare/${encodeURIComponent(String(origin.origin ?? ""))}/${encodeURIComponent(run)}`}>Compare with its origin</a>}
    </form>
    {words && <p class="quiet" role="status">{shown.length} of {records.length} records</p>}
    <ol class="timeline" ref={list}>
      {shown.map((record) => (
        <li key={record.seq} data-seq={record.seq} class={`record ${family(record.type)}`}>
          <div class="record-line">
            <button type="button" class="record-open" aria-expanded={open === record.seq} onClick={() => setOpen(open === record.seq ? -1 : record.seq)}>
              <span class="seq">{record.seq}</span>
              <span class="record-type">{label(record)}</span>
              <span class="record-brief">{summary(record)}</span>
              <span class="record-time">+{seconds(Math.max(0, record.time - began))}</span>
            </button>
            {record.type === "think_started" && (
              <button type="button" class="icon" aria-label={`Show the request of record ${record.seq}`} title="Exact request" onClick={() => showRequest(record.seq)}>
                <Lens size={15} />
              </button>
            )}
            {record.type !== "run_finished" && (
              <button type="button" class="icon fork-here" aria-label={`Fork after record ${record.seq}`} title="Fork from here" onClick={() => setForking(forking === record.seq ? -1 : record.seq)}>
                <Fork size={15} />
              </button>
            )}
          </div>
          {forking === record.seq && <ForkForm run={run} seq={record.seq} />}
          {open === record.seq && <pre tabIndex={0}>{pretty(record.event as Json)}</pre>}
        </li>
      ))}
    </ol>
    </>
  );
}

export function ForkForm({ run, seq }: { run: string; seq: number }) {
  const [message, setMessage] = useState("");
  return (
    <form
      class="fork"
      onSubmit={(event) => {
        event.preventDefault();
        void fork(run, seq, message.trim());
      }}
    >
      <label>
        <span class="quiet">A new run with everything up to record {seq}. Anything to add?</span>
        <input type="text" value={message} placeholder="Optional" onInput={(event) => setMessage(event.currentTarget.value)} autofocus />
      </label>
      <button type="submit" class="primary">
        Fork from here
      </button>
    </form>
  );
}

function label(record: LogRecord): string {
  if (record.type === "approved" && record.event.allow !== true) return "refused";
  return record.type.replaceAll("_", " ");
}

function family(type: string): string {
  if (type.startsWith("think")) return "of-model";
  if (type.startsWith("tool")) return "of-tool";
  if (type.startsWith("answer") || type === "run_finished") return "of-answer";
  if (type === "injected" || type === "approved" || type === "paused") return "of-person";
  return "of-engine";
}

function summary(record: LogRecord): string {
  const event = record.event;
  const text = (name: string): string => (typeof event[name] === "string" ? (event[name] as string) : "");
  switch (record.type) {
    case "run_started":
      return pretty(event.question);
    case "think_started":
      return `${text("component")}, iteration ${pretty(event.iteration)}`;
    case "think_done":
      return [text("thought") || text("answer") || calls(event.message) || text("component"), wanted(event.options)].filter(Boolean).join(" · ");
    case "think_failed":
      return text("error");
    case "tool_started": {
      const call = event.call as { name: string; args?: Record<string, Json> };
      return `${call.name}(${brief(call.args ?? {})})`;
    }
    case "tool_done":
      return `${text("name")}: ${text("error") || pretty(event.content)}`;
    case "approved":
      return [text("tool") || text("call_id"), event.always ? "for this run" : "", event.args ? "with changed arguments" : "", text("note")].filter(Boolean).join(", ");
    case "injected":
      return (event.texts as string[]).join(" ");
    case "answer_done":
      return text("text");
    case "run_finished":
      return text("stop_reason");
    default:
      return text("reason") || text("phase") || text("text") || text("source") || text("step") || text("component");
  }
}

/** What the model would have written where it decided, before any constraint: the three most probable beginnings. */
function wanted(options: Json | undefined): string {
  const shares = Object.entries((options ?? {}) as Record<string, number>).sort(([, one], [, other]) => other - one);
  return shares.length ? `wanted: ${shares.slice(0, 3).map(([name, share]) => `${name} ${Math.round(100 * share)} %`).join(", ")}` : "";
}

function calls(message: Json | undefined): string {
  const made = (message as { calls?: { name: string }[] } | undefined)?.calls ?? [];
  return made.map((call) => call.name).join(", ");
}
