// The shapes of the server's API, as its OpenAPI document describes them.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Status = "running" | "idle" | "paused" | "parked" | "finished";

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  cached_tokens: number;
  reasoning_tokens: number;
  requests: number;
  tool_calls: number;
  cost: number | null;
}

export interface ConversationLine {
  id: string;
  title: string;
  agent: string;
  runs: number;
  last_run: string;
  status: Status;
  created: number;
  updated: number;
}

export interface RunLine {
  run_id: string;
  parent: string;
  agent: string;
  model: string;
  question: string;
  conversation: string;
  status: Status;
  stop_reason: string;
  created: number;
  updated: number;
}

export interface QuestionFile {
  kind: "image" | "audio" | "file";
  mime: string;
  name: string;
}

export interface TurnLine extends RunLine {
  follows: string;
  files: QuestionFile[];
}

export interface Hit {
  run_id: string;
  conversation: string;
  question: string;
  where: "question" | "message" | "tool" | "answer";
  tool: string;
  excerpt: string;
  updated: number;
}

export interface Artifact {
  name: string;
  mime: string;
  summary: string;
  size: number;
}

export interface WaitingCall {
  call_id: string;
  tool_name: string;
  tool_args: Record<string, Json>;
  why: string;
  /** It waits for its result, which whoever called gives. */
  external?: boolean;
}

export interface CallResult {
  call_id: string;
  content?: string;
  error?: string;
}

export interface Decision {
  call_id: string;
  allow: boolean;
  note?: string;
  always?: boolean;
  args?: Record<string, Json>;
}

export interface Component {
  calls: number;
  elapsed: number;
  usage: Usage;
}

export interface Run extends RunLine {
  model: string;
  dialect: string;
  live: boolean;
  success: boolean;
  answer: string;
  error: string;
  iterations: number;
  elapsed: number;
  records: number;
  tools: string[];
  usage: Usage;
  components: Record<string, Component>;
  counters: Record<string, number>;
  breaks: string[];
  waiting: WaitingCall[];
  children: RunLine[];
  tags: string[];
  note: string;
  thumb: string;
}

export interface LogRecord {
  seq: number;
  time: number;
  type: string;
  event: Record<string, Json>;
}

export interface SentRequest {
  seq: number;
  component: string;
  iteration: number;
  model: string;
  digest: string;
  verified: boolean;
  messages: Record<string, Json>[];
  tools: { name: string; description: string; parameters: Json }[];
  options: Record<string, Json>;
}

export interface AgentLine {
  name: string;
  description: string;
  model: string;
  kind: string;
  max_iterations: number;
  tools: { name: string; description: string; approval: string }[];
  preset: string;
  /** What it finds out about its users is kept: there is a view of that. */
  remembers: boolean;
  /** Those a question can be asked with, its own first. */
  models: string[];
  presets: string[];
}

export interface ServerEvent {
  id: string;
  /** `items`, `piece`, or `error`. */
  event: string;
  data: Record<string, Json>;
}
