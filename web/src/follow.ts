// Following a run: a stream of events that comes back by itself after every drop and goes on where it was (Last-Event-ID).

import { url } from "./api";
import { embeddedRun, isExported } from "./embedded";
import type { ServerEvent } from "./types";

export type Connection = "connecting" | "open" | "waiting" | "closed";

export interface Listener {
  event(event: ServerEvent): void;
  connection(state: Connection): void;
  /** The server does not know the run, or does not let us see it. */
  refused(status: number): void;
}

const LONGEST_WAIT = 10_000;
const HIDDEN_FOR = 60_000;

/** Returns what ends it. `started` is the answer to the request that starts the run, which has its first events. */
export function follow(run: string, listener: Listener, started?: Promise<Response>): () => void {
  if (isExported) {
    listener.event({ id: "", event: "items", data: { items: (embeddedRun(run)?.items ?? []) as never } });
    return () => undefined;
  }
  let last = "";
  let tries = 0;
  let stopped = false;
  let abort = new AbortController();
  let timer = 0;

  async function connect(): Promise<void> {
    listener.connection("connecting");
    abort = new AbortController();
    try {
      const headers: Record<string, string> = last ? { "last-event-id": last } : {};
      const address = url(`/api/runs/${encodeURIComponent(run)}/events?detail=items`);
      const first = await started;
      started = undefined;
      if (stopped) return;
      const response = first && !first.bodyUsed ? first : await fetch(address, { headers, signal: abort.signal, credentials: "same-origin" });
      if (response.status === 204) return stop();
      if (!response.ok || !response.body) {
        if (response.status !== 429 && response.status < 500) {
          listener.refused(response.status);
          return stop();
        }
        return later();
      }
      tries = 0;
      listener.connection("open");
      for await (const event of events(response.body, abort.signal)) {
        if (stopped) return;
        if (event.id) last = event.id;
        listener.event(event);
        if (event.event === "items" && (event.data.items as { kind: string }[]).some((item) => item.kind === "end")) return stop();
      }
      later();
    } catch {
      later();
    }
  }

  function later(): void {
    if (stopped || document.hidden) return;
    listener.connection("waiting");
    tries += 1;
    timer = window.setTimeout(connect, Math.min(LONGEST_WAIT, 250 * 2 ** tries * (0.5 + Math.random())));
  }

  // A hidden tab gives its connection back after a while: browsers allow only a few, and nothing is lost.
  function visibility(): void {
    window.clearTimeout(timer);
    if (document.hidden) timer = window.setTimeout(() => started || abort.abort(), HIDDEN_FOR);
    else if (abort.signal.aborted || tries) void connect();
  }

  function stop(): void {
    stopped = true;
    window.clearTimeout(timer);
    document.removeEventListener("visibilitychange", visibility);
    abort.abort();
    listener.connection("closed");
  }

  document.addEventListener("visibilitychange", visibility);
  void connect();
  return () => {
    if (!stopped) stop();
  };
}

async function* events(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  signal.addEventListener("abort", () => void reader.cancel().catch(() => undefined));
  const decoder = new TextDecoder();
  let buffer = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      buffer += decoder.decode(value, { stream: true });
      const blocks = buffer.split("\n\n");
      buffer = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = parse(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.releaseLock();
  }
}

function parse(block: string): ServerEvent | null {
  const fields: Record<string, string> = {};
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "");
  }
  if (fields.data === undefined) return null;
  return { id: fields.id ?? "", event: fields.event ?? "message", data: JSON.parse(fields.data) };
}
