// Numbers, times and values as people read them.

import type { Json } from "./types";

export function seconds(value: number): string {
  if (value < 0.95) return `${Math.max(1, Math.round(value * 1000))} ms`;
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 60) return `${Math.round(value)} s`;
  const minutes = Math.floor(value / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(value % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function count(value: number): string {
  if (value < 10_000) return value.toLocaleString("en");
  return value < 1_000_000 ? `${(value / 1000).toFixed(1)}k` : `${(value / 1_000_000).toFixed(2)}M`;
}

export function money(value: number | null): string {
  if (value === null) return "";
  return value < 0.01 && value > 0 ? `$${value.toFixed(4)}` : `$${value.toFixed(2)}`;
}

export function bytes(value: number): string {
  return value < 1024 ? `${value} B` : value < 1024 * 1024 ? `${(value / 1024).toFixed(1)} kB` : `${(value / 1024 / 1024).toFixed(1)} MB`;
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function when(time: number): string {
  const date = new Date(time * 1000);
  const today = new Date();
  if (date.toDateString() === today.toDateString()) return date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return date.toLocaleDateString([], { day: "numeric", month: "short", ...(date.getFullYear() === today.getFullYear() ? {} : { year: "numeric" }) });
}

export function pretty(value: Json | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** More than fits into a line: a whole file would be laid out to show its beginning. */
const LINE = 400;

/** Arguments in one line, for the head of a card. */
export function brief(args: Record<string, Json>): string {
  const names = Object.keys(args);
  const parts = names.slice(0, 20).map((name) => {
    const value = args[name];
    const shown = (typeof value === "string" ? value : JSON.stringify(value)).slice(0, LINE);
    return names.length === 1 ? shown : `${name}: ${shown}`;
  });
  return parts.join(", ").replace(/\s+/g, " ").slice(0, LINE);
}

/** Text that is JSON, indented; other text as it is. */
export function readable(text: string): string {
  if (!/^\s*[{[]/.test(text) || text.length > 100_000) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
