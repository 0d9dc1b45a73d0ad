// A run as the page shows it: what its events add up to. Pure, so that a reload shows exactly what was there before.

import type { Artifact, Json, ServerEvent, Usage, WaitingCall } from "./types";

export interface Thought {
  kind: "thought";
  key: string;
  iteration: number;
  text: string;
  open: boolean;
}

export interface ToolUse {
  kind: "tool";
  key: string;
  call: string;
  name: string;
  args: Record<string, Json>;
  /** What the model asked for, where a person has changed it. */
  asked: Record<string, Json> | null;
  iteration: number;
  state: "running" | "done" | "failed";
  output: string;
  observation: string;
  error: string;
  elapsed: number;
  began: number;
  artifacts: Artifact[];
  truncated: boolean;
  /** It passed the conversation on, or started an agent in the background: that has a run of its own. */
  child: boolean;
  /** How far an agent in the background is; empty where there is none. */
  work: "" | "running" | "done" | "failed" | "stopped";
}

export interface Interrupt {
  kind: "interrupt";
  key: string;
  text: string;
  ids: string[];
}

export interface Compaction {
  kind: "compaction";
  key: string;
  original: number;
  kept: number;
  summary: string;
}

export interface Note {
  kind: "note";
  key: string;
  title: string;
  text: string;
}

/** What the provider did by itself while it wrote a reply, and what the reply cites. */
export interface AtProvider {
  kind: "provider";
  key: string;
  calls: { tool: string; input?: string; output?: string; error?: string }[];
  citations: { url?: string; title?: string; quote?: string; file?: string }[];
}

/** In one line, for exports and for runs inside others. */
export function atProvider(item: AtProvider): string {
  const asked = item.calls.map((call) => `${call.tool} at the provider${call.input ? `: ${call.input}` : ""}`);
  const cited = item.citations.map((one) => [one.title, one.url].filter(Boolean).join(" ") || (one.file ?? ""));
  return [...asked, ...(cited.length ? [`cited: ${cited.join("; ")}`] : [])].join("; ").replace(/\s+/g, " ");
}

export type Item = Thought | ToolUse | Interrupt | Compaction | Note | AtProvider;

export interface DagStep {
  id: string;
  task: string;
  dependencies: string[];
  hint: string;
  state: "waiting" | "running" | "completed" | "failed" | "skipped" | "reused";
  run: string;
  result: string;
  error: string;
  elapsed: number;
}

export interface Done {
  answer: string;
  iterations: number;
  usage: Usage;
  elapsed: number;
  stop_reason: string;
  success: boolean;
}

export interface RunView {
  items: Item[];
  activity: string;
  /** The agent that has the conversation now, where it was handed over. */
  speaker: string;
  /** The model that took over during the run; empty for the one it began with. */
  model: string;
  checklist: { text: string; done: boolean }[];
  dag: DagStep[];
  round: number;
  waiting: WaitingCall[];
  waitingFor: string;
  /** The arguments the model gave, of calls that have waited for a person. */
  proposed: Record<string, Record<string, Json>>;
  answer: string;
  answering: boolean;
  error: { type: string; message: string; partial: string } | null;
  done: Done | null;
  read: string[];
}

export const EMPTY: RunView = {
  items: [],
  activity: "Starting",
  speaker: "",
  model: "",
  checklist: [],
  dag: [],
  round: 0,
  waiting: [],
  waitingFor: "",
  proposed: {},
  answer: "",
  answering: false,
  error: null,
  done: null,
  read: [],
};

type Data = Record<string, Json>;
const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");
const number = (value: Json | undefined): number => (typeof value === "number" ? value : 0);
const list = <T>(value: Json | undefined): T[] => (Array.isArray(value) ? (value as unknown as T[]) : []);

export function reduce(view: RunView, event: ServerEvent): RunView {
  const reducer = REDUCERS[event.event];
  return reducer ? { ...view, ...reducer(view, event.data, event.id) } : view;
}

const REDUCERS: Record<string, (view: RunView, data: Data, id: string) => Partial<RunView>> = {
  step,
  thought,
  output,
  phase,
  activity: (view, data) => (data.status === "start" ? { activity: doing(text(data.component)) } : { activity: view.activity }),
  inject: (view, data, id) => ({
    items: [...view.items, { kind: "interrupt", key: id, text: text(data.content), ids: list<string>(data.ids) }],
    read: [...view.read, ...list<string>(data.ids)],
  }),
  compact: (view, data, id) => ({
    items: [
      ...view.items,
      {
        kind: "compaction",
        key: id,
        original: number(data.original_messages),
        kept: number(data.kept_messages),
        summary: text(data.summary),
      },
    ],
  }),
  answer: (view, data) => {
    if (data.status === "start") return { answer: "", answering: true, activity: "Writing" };
    if (data.status === "delta") return { answer: view.answer + text(data.content), answering: true };
    if (data.status === "retracted") return { answer: "", answering: false, activity: "Thinking", items: moved(view) };
    return { answering: false };
  },
  reset: (view, data, id) => ({
    answer: "",
    // An answer that a plug-in has changed follows at once: nothing has failed.
    items: data.replaced === true ? view.items : [
      ...view.items.filter((item) => !(item.kind === "thought" && item.open)),
      { kind: "note", key: id, title: data.wait === null ? "The model call failed" : "Trying again", text: text(data.error) },
    ],
  }),
  step_progress: progress,
  error: (_, data) => ({ error: { type: text(data.type), message: text(data.message), partial: text(data.partial) } }),
  done: (view, data) => {
    const done = data as unknown as Done;
    // Whoever has stopped it does not want to be told that there is no answer.
    const answer = done.stop_reason === "cancelled" ? view.answer : done.answer;
    return { done, answer, answering: false, waiting: [], activity: "", items: view.items.map(closed) };
  },
};

/** Words that streamed as the answer were a thought: they move there, unless the complete thought is there already. */
function moved(view: RunView): Item[] {
  const words = view.answer.trim();
  const last = view.items.filter((item): item is Thought => item.kind === "thought").pop();
  if (!words || last?.text.trim().startsWith(words)) return view.items;
  return [...view.items, { kind: "thought", key: `m${view.items.length}`, iteration: 0, text: words, open: true }];
}

function closed(item: Item): Item {
  if (item.kind === "tool" && item.work === "running") return { ...item, work: "stopped" };
  return item.kind === "thought" && item.open ? { ...item, open: false } : item;
}

function step(view: RunView, data: Data, id: string): Partial<RunView> {
  const iteration = number(data.iteration);
  if (data.type === "thinking" && data.status === "start") return { activity: "Thinking", waiting: [] };
  if (data.type === "thinking") {
    const reasoning = text(data.reasoning);
    const items = view.items.filter((item) => !(item.kind === "thought" && item.open));
    if (reasoning) items.push({ kind: "thought", key: `t${id}`, iteration, text: reasoning, open: false });
    return { items };
  }
  if (data.type === "iteration" && data.status === "start") return started(view, data, iteration);
  if (data.type === "iteration") return finished(view, data);
  return {};
}

function started(view: RunView, data: Data, iteration: number): Partial<RunView> {
  const call = text(data.call_id);
  const name = text(data.tool_name);
  const use: ToolUse = {
    kind: "tool",
    key: `c${call}`,
    call,
    name,
    args: data.tool_args as Record<string, Json>,
    asked: differs(view.proposed[call], data.tool_args) ? view.proposed[call] ?? null : null,
    iteration,
    state: "running",
    output: "",
    observation: "",
    error: "",
    elapsed: 0,
    began: Date.now(),
    artifacts: [],
    truncated: false,
    child: false,
    work: "",
  };
  // A call that is run again after a restart is the same card.
  const items = [...view.items.filter((item) => item.key !== use.key), use];
  return { items, activity: using(items), waiting: [] };
}

const differs = (asked: Record<string, Json> | undefined, made: Json | undefined): boolean => asked !== undefined && JSON.stringify(asked) !== JSON.stringify(made);

/** Which tools run now. */
function using(items: Item[]): string {
  const names = items.flatMap((item) => (item.kind === "tool" && item.state === "running" ? [item.name] : []));
  return names.length ? `Using ${[...new Set(names)].join(", ")}` : "Working";
}

function change(view: RunView, call: string, make: (use: ToolUse) => Partial<ToolUse>): Item[] {
  return view.items.map((item) => (item.kind === "tool" && item.call === call ? { ...item, ...make(item) } : item));
}

function finished(view: RunView, data: Data): Partial<RunView> {
  const error = text(data.error);
  const passedOn = view.items.some((item) => item.kind === "tool" && item.call === data.call_id && item.child && !item.work);
  const items = change(view, text(data.call_id), (use) => ({
    ...(inBackground(use, text(data.observation)) ? { child: true, work: use.work || "running" } : {}),
    state: error ? "failed" : "done",
    observation: text(data.observation),
    error,
    elapsed: number(data.iter_elapsed),
    artifacts: list<Artifact>(data.artifacts),
    truncated: data.truncated === true,
  }));
  // One who could not take it gives the conversation back.
  return { items, activity: using(items), ...(passedOn && error ? { speaker: "" } : {}) };
}

/** What the engine says when an agent has begun to work in the background. */
const inBackground = (use: ToolUse, observation: string): boolean => use.name.startsWith("start_") && observation.includes(` works on it in the background as ${use.call}.`);

/** An agent has the conversation now: the call that passed it on is still open. */
function handedOver(view: RunView, agent: string, why: string, id: string): Partial<RunView> {
  const items = view.items.map((item) => (item.kind === "tool" && item.state === "running" && typeof item.args.reason === "string" ? { ...item, child: true } : item));
  return { items: [...items, { kind: "note", key: id, title: `Handed over to ${agent}`, text: why }], speaker: agent, activity: `${agent} has the conversation` };
}

function workEnded(view: RunView, call: string, how: string, id: string): Partial<RunView> {
  const items = change(view, call, () => ({ child: true, work: / has failed(?::|$)/.test(how) ? "failed" : "done" }));
  return { items: [...items, { kind: "note", key: id, title: "Background work", text: how }] };
}

function output(view: RunView, data: Data): Partial<RunView> {
  return { items: change(view, text(data.call_id), (use) => ({ output: use.output + text(data.content) })) };
}

function thought(view: RunView, data: Data, id: string): Partial<RunView> {
  const open = view.items.find((item): item is Thought => item.kind === "thought" && item.open);
  if (open) {
    return { items: view.items.map((item) => (item === open ? { ...open, text: open.text + text(data.content) } : item)) };
  }
  const fresh: Thought = { kind: "thought", key: `o${id}`, iteration: number(data.iteration), text: text(data.content), open: true };
  return { items: [...view.items, fresh] };
}

const PHASES: Record<string, string> = {
  selecting_tools: "Choosing tools",
  planning: "Planning",
  executing: "Working on the plan",
  analyzing: "Checking the results",
  answer_only: "Answering with what is known",
};

function doing(component: string): string {
  const known: Record<string, string> = { planner: "Planning", plan: "Planning", observer: "Checking progress", reflection: "Reflecting" };
  return known[component] ?? component.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());
}

function phase(view: RunView, data: Data, id: string): Partial<RunView> {
  const name = text(data.phase);
  const note = (title: string, words: string): Partial<RunView> => ({ items: [...view.items, { kind: "note", key: id, title, text: words }] });
  switch (name) {
    case "paused":
      return {
        waiting: list<WaitingCall>(data.calls),
        waitingFor: text(data.reason),
        proposed: { ...view.proposed, ...Object.fromEntries(list<WaitingCall>(data.calls).map((call) => [call.call_id, call.tool_args])) },
        activity: data.parked ? "Parked" : "Waiting for you",
        ...(data.parked ? note("Parked", text(data.reason)) : {}),
      };
    case "resumed":
      return { activity: "Resuming", ...(data.reason === "restarted" ? note("Resumed after a restart", "") : {}) };
    case "approved":
    case "refused":
    case "answered":
      return decided(view, text(data.call_id));
    case "checklist":
      return { checklist: list(data.steps) };
    case "plan":
      return { dag: planned(data), round: number(data.round) || view.round + 1, activity: "Working on the plan" };
    case "selecting_tools":
      return { activity: `Choosing among ${number(data.total_tools)} tools` };
    case "reflected":
      return note("Reflection", text(data.text));
    case "observed":
      return text(data.correction) ? note("Course corrected", text(data.correction)) : {};
    case "model_switched":
      return { ...note(`Switched to ${text(data.model)}`, text(data.reason)), model: text(data.model) };
    case "dialect_demoted":
      return note(`Switched to the dialect ${text(data.dialect)}`, text(data.reason));
    case "provider_tools_used":
      return { items: [...view.items, { kind: "provider", key: id, calls: list(data.calls), citations: list(data.citations) }] };
    case "tools_changed":
      return note("Tools changed", list<string>(data.tools).join(", "));
    default: {
      const missing = /^going on without tools: (.+)$/s.exec(name);
      const passed = /^(?:handed over to|background) (.+?): (.+)$/s.exec(name);
      if (passed) return (name.startsWith("handed") ? handedOver : workEnded)(view, passed[1] ?? "", passed[2] ?? "", id);
      return missing ? note("Some tools are missing", missing[1] ?? "") : { activity: PHASES[name] ?? doing(name) };
    }
  }
}

/** The view once somebody has decided about a call. */
export function decided(view: RunView, call: string): RunView {
  const waiting = view.waiting.filter((one) => one.call_id !== call);
  return { ...view, waiting, activity: waiting.length ? view.activity : "Resuming" };
}

function planned(data: Data): DagStep[] {
  return list<Data>(data.steps).map((step) => ({
    id: text(step.id),
    task: text(step.task),
    dependencies: list<string>(step.dependencies),
    hint: text(step.tool_hint) || text(step.model_hint),
    state: "waiting",
    run: "",
    result: "",
    error: "",
    elapsed: 0,
  }));
}

function progress(view: RunView, data: Data): Partial<RunView> {
  const status = text(data.status);
  const id = text(data.step);
  const known = view.dag.some((step) => step.id === id);
  const dag = known ? view.dag : [...view.dag, ...planned({ steps: [{ id, task: data.task ?? id }] })];
  const changed = dag.map((step) => {
    if (step.id !== id) return step;
    if (status === "started") return { ...step, state: "running" as const, run: text(data.run) };
    const state = status as DagStep["state"];
    return { ...step, state, result: text(data.result), error: text(data.error), elapsed: number(data.elapsed) };
  });
  return { dag: changed };
}
