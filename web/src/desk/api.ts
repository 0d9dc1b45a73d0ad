// The parts of the server's API that only these views use.

import { call } from "../api";
import type { Json, RunLine } from "../types";

export interface Summary {
  success?: boolean;
  iterations?: number;
  requests?: number;
  tool_calls?: number;
  failed_calls?: number;
  input_tokens?: number;
  output_tokens?: number;
  cached_tokens?: number;
  cost?: number | null;
  elapsed?: number;
}

export interface ListedRun extends RunLine {
  model: string;
  cursor: string;
  summary: Summary | null;
  tags: string[];
  note: string;
  thumb: "" | "up" | "down";
}

export interface Group {
  name: string;
  runs: number;
  succeeded: number;
  tokens: number;
  cost: number | null;
  elapsed: number;
}

export interface Overview {
  runs: number;
  statuses: Record<string, number>;
  stop_reasons: Record<string, number>;
  ended: number;
  succeeded: number;
  requests: number;
  tool_calls: number;
  failed_calls: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cost: number | null;
  elapsed: number;
  median_elapsed: number;
  slow_elapsed: number;
  thumbs: Record<string, number>;
  tags: Record<string, number>;
  agents: Group[];
  models: Group[];
  tools: { name: string; runs: number; calls: number; failed: number; elapsed: number }[];
  span: number;
  spans: { start: number; runs: number; succeeded: number; tokens: number; cost: number | null }[];
  pending: number;
}

export interface Step {
  seq: number;
  kind: "reply" | "call";
  name: string;
  input: string;
  output: string;
  error: string;
  elapsed: number;
  tokens: number;
}

export interface Comparison {
  first: string;
  second: string;
  common: number;
  facts: { name: string; first: string; second: string }[];
  steps: { change: "same" | "changed" | "removed" | "added"; first: Step | null; second: Step | null }[];
}

export interface PrefixUse {
  seq: number;
  component: string;
  iteration: number;
  messages: number;
  bytes: number;
  kept_messages: number;
  kept_bytes: number;
  broke_at: number;
  why: string;
  tools_changed: boolean;
  input_tokens: number;
  cached_tokens: number;
}

export interface AgentFacts {
  name: string;
  description: string;
  model: string;
  kind: string;
  max_iterations: number;
  tools: { name: string; description: string; approval: string; parameters: Record<string, Json> }[];
  knowledge: { name: string; tool: string; exists: boolean }[];
  mcp: string[];
}

export interface McpHealth {
  name: string;
  ok: boolean;
  tools: string[];
  problem: string;
}

export interface MemoryStore {
  name: string;
  agents: string[];
  about: Record<string, number>;
}

export interface Memo {
  id: number;
  user: string;
  agent: string;
  question: string;
  answer: string;
  summary: string;
  created: number;
  run_id: string;
  /** Empty when the run is not in the journal any more. */
  conversation: string;
}

export interface Experiment {
  change: string;
  kind: string;
  step: number;
  runs: string[];
  right: number;
  trials: number;
  answer: string;
  why: string;
  unknown: string[];
}

export interface Cause {
  change: string;
  run: string;
  difference: string;
  patch: string;
  step: number;
  last_step: number;
  share: string;
}

export interface Why {
  marks: { step?: number; answer?: string; call?: string; args?: Record<string, Json> }[];
  running: boolean;
  judge: string;
  problem: string;
  experiments: Experiment[];
  causes: Cause[];
  requests: number;
  complete: boolean;
  failed: string;
}

export interface Tree {
  seq: number;
  step: number;
  moment: string;
  call_id: string;
  changes: { added?: number; changed?: number; removed?: number };
  skipped: string[];
  problem: string;
}

export interface FileChange {
  path: string;
  kind: "A" | "M" | "D";
  difference: string;
}

export interface Changed {
  changes: FileChange[];
  complete: boolean;
}

/** What would change in the person's folder; `now` is the folder as it was when that was found. */
export interface Brought extends Changed {
  folder: string;
  now: string;
  conflicts: string[];
}

export type Filter = Record<string, string>;

const treesOf = (run: string, rest = "") => `/api/runs/${encodeURIComponent(run)}/trees${rest}`;

const query = (values: Filter) => {
  const given = Object.entries(values).filter(([, value]) => value);
  return given.length ? `?${new URLSearchParams(given)}` : "";
};

export const desk = {
  runs: (filter: Filter, after: string) => call<{ runs: ListedRun[]; next: string }>("GET", `/api/runs${query({ ...filter, after, limit: "50" })}`),
  overview: (filter: Filter) => call<Overview>("GET", `/api/overview${query(filter)}`),
  annotate: (run: string, change: { tags?: string[]; note?: string; thumb?: string }) =>
    call<ListedRun>("POST", `/api/runs/${encodeURIComponent(run)}/annotations`, change),
  compare: (first: string, second: string) => call<Comparison>("GET", `/api/compare${query({ first, second })}`),
  prefixes: (run: string) => call<{ requests: PrefixUse[] }>("GET", `/api/runs/${encodeURIComponent(run)}/prefixes`).then((found) => found.requests),
  trees: (run: string) => call<{ trees: Tree[]; folder: string }>("GET", treesOf(run)),
  changed: (run: string, seq: number, before: number) => call<Changed>("GET", treesOf(run, `/${seq}${before < 0 ? "" : `?before=${before}`}`)),
  files: (run: string, seq: number) => call<{ files: string[]; complete: boolean }>("GET", treesOf(run, `/${seq}/files`)),
  file: (run: string, seq: number, path: string) => call<string>("GET", treesOf(run, `/${seq}/file${query({ path })}`), undefined, "text"),
  wouldBring: (run: string, seq: number, exact: boolean) => call<Brought>("GET", treesOf(run, `/${seq}/bring?exact=${exact}`)),
  bring: (run: string, seq: number, body: { exact: boolean; now: string }) => call<Brought>("POST", treesOf(run, `/${seq}/bring`), body),
  stores: () => call<{ stores: MemoryStore[] }>("GET", "/api/memory").then((found) => found.stores),
  memories: (store: string, user: string, before: number) =>
    call<{ memories: Memo[]; more: boolean }>("GET", `/api/memory/${encodeURIComponent(store)}${query({ user, before: before ? String(before) : "" })}`),
  editMemory: (store: string, id: number, summary: string) => call<Memo>("POST", `/api/memory/${encodeURIComponent(store)}/${id}`, { summary }),
  forgetMemory: (store: string, id: number) => call("DELETE", `/api/memory/${encodeURIComponent(store)}/${id}`),
  forgetUser: (store: string, user: string) => call<{ forgotten: number }>("DELETE", `/api/memory/${encodeURIComponent(store)}${query({ user })}`),
  why: (run: string) => call<Why>("GET", `/api/runs/${encodeURIComponent(run)}/why`),
  expected: (run: string, body: { answer?: string; call?: string; step: number }) => call<Why>("POST", `/api/runs/${encodeURIComponent(run)}/expected`, body),
  search: (run: string, requests: number) => call<Why>("POST", `/api/runs/${encodeURIComponent(run)}/why`, { requests }),
  agents: () => call<{ agents: AgentFacts[] }>("GET", "/api/agents").then((found) => found.agents),
  health: (agent: string) => call<{ servers: McpHealth[] }>("GET", `/api/agents/${encodeURIComponent(agent)}/mcp`).then((found) => found.servers),
  tryTool: (agent: string, tool: string, args: Record<string, Json>) =>
    call<{ run_id: string; conversation: string }>("POST", `/api/agents/${encodeURIComponent(agent)}/tools/${encodeURIComponent(tool)}`, { args }),
};
