// The view items of a run, as the server sends them. Written by scripts/page_types.py from src/treadle/_view/items.py.

import type { Json } from "./types";

export interface Turn {
  kind: "turn";
  id: string;
  run: string;
  parent: string;
  depth: number;
  agent: string;
  model: string;
  dialect: string;
  question: string;
  conversation: string;
  created: number;
}

export interface Status {
  kind: "status";
  id: string;
  state: "finished" | "parked" | "paused" | "working";
  activity: string;
  iteration: number;
  model: string;
  speaker: string;
}

export interface Usage {
  input_tokens?: number;
  output_tokens?: number;
  cached_tokens?: number;
  cache_write_tokens?: number;
  reasoning_tokens?: number;
  requests?: number;
  tool_calls?: number;
  cost?: number | null;
  estimated_tokens?: number;
}

export interface Cost {
  kind: "cost";
  id: string;
  usage: Usage;
  total_tokens: number;
}

export interface Thought {
  kind: "thought";
  id: string;
  component: string;
  iteration: number;
  state: "done" | "open" | "void";
  text: string;
  reasoning: string;
  problem: string;
  unread: boolean;
  is_answer: boolean;
  calls: string[];
  attempts: number;
  elapsed: number;
  usage: Usage;
}

export interface ArtifactLine {
  name: string;
  mime: string;
  summary: string;
  size: number;
}

export interface Call {
  kind: "call";
  id: string;
  call_id: string;
  tool: string;
  args: Record<string, Json>;
  proposed: Record<string, Json> | null;
  iteration: number;
  state: "asked" | "cancelled" | "done" | "failed" | "refused" | "running" | "waiting";
  why: string;
  external: boolean;
  output: string;
  content: string;
  error: string;
  began: number;
  elapsed: number;
  artifacts: ArtifactLine[];
  truncated: boolean;
  final: boolean;
  has_run: boolean;
  work: "" | "done" | "failed" | "running" | "stopped";
}

export interface Pause {
  kind: "pause";
  id: string;
  reason: string;
  calls: string[];
  parked: number;
}

export interface Decision {
  kind: "decision";
  id: string;
  call_id: string;
  tool: string;
  decided: "allowed" | "answered" | "refused";
  by: string;
  note: string;
  always: boolean;
  args: Record<string, Json> | null;
  failed: boolean;
}

export interface Answer {
  kind: "answer";
  id: string;
  state: "draft" | "final" | "open" | "retracted" | "void";
  text: string;
  source: string;
}

export interface Interrupt {
  kind: "interrupt";
  id: string;
  texts: string[];
  message_ids: string[];
}

export interface Compaction {
  kind: "compaction";
  id: string;
  original_messages: number;
  kept_messages: number;
  reason: string;
  summary: string;
}

export interface CheckItem {
  text: string;
  done: boolean;
}

export interface Checklist {
  kind: "checklist";
  id: string;
  steps: CheckItem[];
  iteration: number;
}

export interface PlannedLine {
  id: string;
  task: string;
  dependencies: string[];
  tool_hint: string;
  model_hint: string;
}

export interface Plan {
  kind: "plan";
  id: string;
  round: number;
  steps: PlannedLine[];
  notes: string[];
}

export interface PlanStep {
  kind: "plan_step";
  id: string;
  step: string;
  round: number;
  task: string;
  dependencies: string[];
  hint: string;
  state: string;
  run: string;
  result: string;
  error: string;
  elapsed: number;
  usage: Usage;
}

export interface ProviderCall {
  tool: string;
  id?: string;
  input?: string;
  output?: string;
  error?: string;
}

export interface Citation {
  url?: string;
  title?: string;
  quote?: string;
  file?: string;
}

export interface ProviderUse {
  kind: "provider_use";
  id: string;
  component: string;
  iteration: number;
  calls: ProviderCall[];
  citations: Citation[];
}

export interface Retry {
  kind: "retry";
  id: string;
  component: string;
  iteration: number;
  attempt: number;
  error: string;
  wait: number | null;
  rejected: boolean;
}

export interface Notice {
  kind: "notice";
  id: string;
  topic: string;
  level: "divider" | "note" | "quiet" | "warning";
  title: string;
  text: string;
  fields: Record<string, Json>;
}

export interface LedgerEntry {
  call_id: string;
  tool: string;
  state: "done" | "failed" | "refused" | "unknown";
  args?: Record<string, Json>;
  result?: string;
  run?: string;
  seq?: number;
  time?: number;
  key?: string;
  identified?: boolean;
  declared?: boolean;
}

export interface End {
  kind: "end";
  id: string;
  stop_reason: "answer" | "budget" | "cancelled" | "empty" | "error" | "final_tool" | "limit" | "paused" | "stuck";
  success: boolean;
  failed: boolean;
  answer: string;
  partial: string;
  error: string;
  error_type: string;
  iterations: number;
  elapsed: number;
  unread: string[];
  ledger: LedgerEntry[];
}

export type Item = Turn | Status | Cost | Thought | Call | Pause | Decision | Answer | Interrupt | Compaction | Checklist | Plan | PlanStep | ProviderUse | Retry | Notice | End;
