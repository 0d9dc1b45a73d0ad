// Calls to the server. Paths are relative to the page, so it works behind any prefix.

import { embeddedPicture, embeddedRecords, isExported } from "./embedded";
import type { AgentLine, CallResult, ConversationLine, Decision, Hit, Json, LogRecord, Run, SentRequest, TurnLine } from "./types";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const root = new URL(".", document.baseURI).pathname.replace(/\/$/, "");

export function url(path: string): string {
  return root + path;
}

async function ask(method: string, path: string, body?: unknown): Promise<Response> {
  if (isExported) throw new ApiError(0, "This file needs no server, and asks none.");
  const init: RequestInit = { method, credentials: "same-origin" };
  if (body !== undefined) {
    init.headers = { "content-type": "application/json" };
    init.body = JSON.stringify(body);
  }
  let response: Response;
  try {
    response = await fetch(url(path), init);
  } catch {
    throw new ApiError(0, "The server cannot be reached.");
  }
  if (response.ok) return response;
  const data = await response.json().catch(() => null);
  throw new ApiError(response.status, data?.error?.message ?? `The server answered ${response.status}.`);
}

export async function call<T>(method: string, path: string, body?: unknown, kind = "json"): Promise<T> {
  const response = await ask(method, path, body);
  return kind === "text" ? ((await response.text()) as T) : response.json().catch(() => null);
}

const part = encodeURIComponent;

/** Text, or text with pictures, sound and documents. */
export type Question = string | ({ type: "text"; text: string } | { type: "image" | "audio" | "file"; data: string; mime: string; name: string })[];

export interface Created {
  run_id: string;
  conversation: string;
}

export const api = {
  session: () => call<{ user: string; needs_token: boolean; id_prefix: string }>("GET", "/api/session"),
  logIn: (token: string) => call<{ user: string }>("POST", "/api/session", { token }),
  logOut: () => call("DELETE", "/api/session"),
  agents: () => call<{ agents: AgentLine[] }>("GET", "/api/agents").then((found) => found.agents),
  conversations: (limit = 200) =>
    call<{ conversations: ConversationLine[] }>("GET", `/api/conversations?limit=${limit}`).then((found) => found.conversations),
  conversation: (id: string, limit = 1000) => call<{ runs: TurnLine[]; more: boolean }>("GET", `/api/conversations/${part(id)}?limit=${limit}`),
  asPage: (id: string, until: string) => call<string>("GET", `/api/conversations/${part(id)}/export?${new URLSearchParams({ until })}`, undefined, "text"),
  search: (words: string) => call<{ hits: Hit[]; complete: boolean }>("GET", `/api/search?${new URLSearchParams({ q: words })}`),
  rename: (id: string, title: string) => call<{ title: string }>("POST", `/api/conversations/${part(id)}/title`, { title }),
  deleteConversation: (id: string) => call("DELETE", `/api/conversations/${part(id)}`),
  run: (id: string) => call<Run>("GET", `/api/runs/${part(id)}`),
  start: (body: { question: Question; agent?: string; model?: string; preset?: string; conversation?: string; follows?: string; run_id?: string; settings?: Record<string, Json> }) =>
    // Answered with the run's events: a second request for them would keep its first words back.
    ask("POST", "/api/runs", { ...body, stream: "items", settings: { stream_thoughts: true, ...body.settings } }),
  send: (run: string, text: string) => call<{ id: string }>("POST", `/api/runs/${part(run)}/messages`, { text }),
  recall: (run: string, message: string) =>
    call<{ recalled: boolean }>("DELETE", `/api/runs/${part(run)}/messages/${part(message)}`).then((answer) => answer.recalled),
  cancel: (run: string) => call("POST", `/api/runs/${part(run)}/cancel`),
  resume: (run: string) => call("POST", `/api/runs/${part(run)}/resume`),
  decide: (run: string, decision: Decision | { all: boolean }) => call("POST", `/api/runs/${part(run)}/approvals`, decision),
  answer: (run: string, result: CallResult) => call("POST", `/api/runs/${part(run)}/results`, result),
  fork: (run: string, at: number, message: string) => call<Created>("POST", `/api/runs/${part(run)}/fork`, { at, message }),
  branch: (run: string, body: { at?: number; question?: string }) => call<Created>("POST", `/api/runs/${part(run)}/fork`, { ...body, branch: true }),
  records: async (run: string, after: number): Promise<{ records: LogRecord[]; more: boolean }> =>
    isExported ? { records: embeddedRecords(run), more: false } : call("GET", `/api/runs/${part(run)}/records?after=${after}&limit=500`),
  request: (run: string, seq: number) => call<SentRequest>("GET", `/api/runs/${part(run)}/requests/${seq}`),
};

/** What was sent with a question, by its place. */
export function fileUrl(run: string, place: number): string {
  return url(`/api/runs/${part(run)}/files/${place}`);
}

export function artifactUrl(run: string, call_id: string, name: string, download = false): string {
  if (isExported) return embeddedPicture(run, call_id, name);
  const query = new URLSearchParams({ call_id });
  if (download) query.set("download", "true");
  return url(`/api/runs/${part(run)}/artifacts/${name.split("/").map(part).join("/")}?${query}`);
}
