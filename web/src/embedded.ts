// What an exported file carries in place of a server.

import type { Item } from "./items";
import type { Json, LogRecord } from "./types";

export interface EmbeddedRun {
  run: string;
  items: Item[];
  records: { seq: number; time: number; event: Record<string, Json> }[];
}

export interface Embedded {
  title: string;
  runs: EmbeddedRun[];
}

/** Whether this is the script of an exported file. Known when it is built: what does not fit is not in the bundle. */
export const isExported = import.meta.env.MODE === "export";

export const embedded = (isExported ? JSON.parse(document.getElementById("embedded")?.textContent ?? "null") : null) as Embedded | null;

export const embeddedRun = (run: string): EmbeddedRun | undefined => embedded?.runs.find((one) => one.run === run);

export const embeddedRecords = (run: string): LogRecord[] => (embeddedRun(run)?.records ?? []).map((record) => ({ ...record, type: String(record.event.type) }));

interface Made {
  name: string;
  content: string;
  mime?: string;
  base64?: boolean;
}

/** A picture that a tool has made, as an address; empty for anything else, which is not shown. */
export function embeddedPicture(run: string, call: string, name: string): string {
  for (const { event } of embeddedRun(run)?.records ?? []) {
    if (event.type !== "tool_done" || event.call_id !== call) continue;
    const made = ((event.artifacts ?? []) as unknown as Made[]).find((one) => one.name === name);
    if (made?.base64 && /^image\/(png|jpeg|gif|webp)$/.test(made.mime ?? "")) return `data:${made.mime};base64,${made.content}`;
  }
  return "";
}
