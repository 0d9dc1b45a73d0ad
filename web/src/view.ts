// A run as the page shows it: the items that the server has folded its log into, by id. Nothing is folded here.

import type { Answer, Call, Checklist, Cost, End, Interrupt, Item, Compaction, Notice, Pause, Plan, PlanStep, ProviderUse, Retry, Status, Thought } from "./items";
import type { ServerEvent } from "./types";

/** The items that are drawn on the thread. */
export type Step = Thought | Call | Interrupt | Compaction | Notice | ProviderUse | Retry | Pause;

export interface RunView {
  all: ReadonlyMap<string, Item>;
  steps: Step[];
  activity: string;
  /** The agent that has the conversation now, where it was handed over. */
  speaker: string;
  model: string;
  checklist: Checklist["steps"];
  dag: PlanStep[];
  round: number;
  /** The calls that a person is asked about. */
  waiting: Call[];
  paused: boolean;
  answer: string;
  answering: boolean;
  error: { type: string; message: string; partial: string } | null;
  done: End | null;
  cost: Cost | null;
  /** The ids of the messages that the run has read. */
  read: string[];
}

export const EMPTY: RunView = {
  all: new Map(),
  steps: [],
  activity: "Starting",
  speaker: "",
  model: "",
  checklist: [],
  dag: [],
  round: 0,
  waiting: [],
  paused: false,
  answer: "",
  answering: false,
  error: null,
  done: null,
  cost: null,
  read: [],
};

/** The view after some more events. */
export function applied(view: RunView, events: ServerEvent[]): RunView {
  const all = new Map(view.all);
  let broken = view.done ? null : view.error;
  for (const { event, data } of events) {
    if (event === "items") for (const item of data.items as unknown as Item[]) put(all, item);
    else if (event === "piece") grow(all, String(data.item), String(data.content));
    else if (event === "error") broken = { type: String(data.type), message: String(data.message), partial: "" };
  }
  return { ...seen(all), ...(broken && !all.has("end") ? { error: broken } : {}) };
}

function put(all: Map<string, Item>, item: Item): void {
  const before = all.get(item.id);
  if (item.kind === "answer" && item.state === "retracted") {
    all.delete(item.id);
    // The words were a thought: they stand there until the complete one comes.
    const thought = [...all.values()].findLast((one): one is Thought => one.kind === "thought" && one.state === "open" && !one.text);
    if (thought && item.text) all.set(thought.id, { ...thought, text: item.text });
  } else if (item.kind === "call" && before?.kind === "call") {
    // When it was seen first, by this clock; and what it wrote while it ran, which is not stored.
    all.set(item.id, { ...item, began: before.state === "running" ? before.began : Date.now() / 1000, output: item.output || before.output });
  } else if (item.kind === "call") {
    all.set(item.id, { ...item, began: Date.now() / 1000 });
  } else {
    all.set(item.id, item);
  }
}

function grow(all: Map<string, Item>, id: string, text: string): void {
  const item = all.get(id);
  if (item?.kind === "call") all.set(id, { ...item, output: item.output + text });
  else if (item?.kind === "thought" || item?.kind === "answer") all.set(id, { ...item, text: item.text + text });
}

/** What is drawn of the items. */
function seen(all: ReadonlyMap<string, Item>): RunView {
  const items = [...all.values()];
  const one = <T extends Item>(id: string) => all.get(id) as T | undefined;
  const [status, answer, end] = [one<Status>("status"), one<Answer>("answer"), one<End>("end")];
  const plan = items.findLast((item): item is Plan => item.kind === "plan");
  const steps = items.filter((item): item is PlanStep => item.kind === "plan_step");
  const calls = items.filter((item): item is Call => item.kind === "call");
  const words = answer && answer.source !== "error" ? answer.text : "";
  return {
    all,
    steps: once(items.filter(isDrawn), !!end?.failed),
    activity: doing(status, calls),
    speaker: status?.speaker ?? "",
    model: status?.model ?? "",
    checklist: one<Checklist>("checklist")?.steps ?? [],
    dag: plan ? steps.filter((step) => step.round === plan.round) : steps,
    round: plan?.round ?? 0,
    waiting: end ? [] : calls.filter((call) => call.state === "asked"),
    paused: status?.state === "paused" || status?.state === "parked",
    // Whoever has stopped it does not want to be told that there is no answer.
    answer: end && end.stop_reason !== "cancelled" ? end.answer : words,
    answering: !end && !!answer && answer.state !== "final",
    error: end?.failed ? { type: end.error_type || "error", message: end.error || end.partial, partial: end.partial } : null,
    done: end ?? null,
    cost: one<Cost>("cost") ?? null,
    read: items.flatMap((item) => (item.kind === "interrupt" ? item.message_ids : [])),
  };
}

function isDrawn(item: Item): item is Step {
  switch (item.kind) {
    case "thought":
      return ["loop", "repair"].includes(item.component) && item.state !== "void" && !item.is_answer && !!wordsOf(item).trim();
    case "call":
      return item.state !== "waiting" && item.state !== "asked" && !(item.state === "cancelled" && !item.error && !item.began);
    case "notice":
      return item.level !== "quiet" && !(item.topic === "resumed" && item.fields.reason !== "restarted");
    case "pause":
      return item.parked > 0;
    case "retry":
      return !item.rejected;
    case "interrupt":
    case "compaction":
    case "provider_use":
      return true;
    default:
      return false;
  }
}

/** Of attempts that failed in the same way one is enough; what the run failed with is on its card. */
function once(steps: Step[], failed: boolean): Step[] {
  return steps.filter((step, place) => {
    const next = steps[place + 1];
    return step.kind !== "retry" || (next ? next.kind !== "retry" || next.error !== step.error : !failed || step.wait !== null);
  });
}

export const wordsOf = (thought: Thought): string => (!thought.unread && thought.text) || thought.reasoning;

const capital = (text: string): string => text.replace(/^./, (first) => first.toUpperCase());

/** What goes on now; which tools run is known from their calls. */
function doing(status: Status | undefined, calls: Call[]): string {
  if (!status) return "Starting";
  const names = calls.flatMap((call) => (call.state === "running" ? [call.tool] : []));
  return status.activity === "working" && names.length ? `Using ${[...new Set(names)].join(", ")}` : capital(status.activity);
}

/** A line with its title, and what is behind it. */
export function noteOf(item: Notice | Retry | Pause): { title: string; text: string } {
  if (item.kind === "retry") return { title: item.wait === null ? "The model call failed" : "Trying again", text: item.error };
  if (item.kind === "pause") return { title: "Parked", text: item.reason };
  return { title: capital(item.title), text: item.text };
}

/** What the provider did, in one line, for exports and for runs inside others. */
export function atProvider(item: ProviderUse): string {
  const asked = item.calls.map((call) => `${call.tool} at the provider${call.input ? `: ${call.input}` : ""}`);
  const cited = item.citations.map((one) => [one.title, one.url].filter(Boolean).join(" ") || (one.file ?? ""));
  return [...asked, ...(cited.length ? [`cited: ${cited.join("; ")}`] : [])].join("; ").replace(/\s+/g, " ");
}

/** The view once somebody has decided about a call. */
export function decided(view: RunView, id: string): RunView {
  const call = view.all.get(`call:${id}`);
  if (call?.kind !== "call" || call.state !== "asked") return view;
  const after = seen(new Map(view.all).set(call.id, { ...call, state: "waiting" }));
  return after.waiting.length ? after : { ...after, activity: "Resuming" };
}
