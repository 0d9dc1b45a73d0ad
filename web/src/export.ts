// A conversation as a file: markdown, JSON, or the page that the server makes of it, which plays it again and needs nothing else.

import { api } from "./api";
import type { Turn } from "./model";
import { atProvider, noteOf, wordsOf, type Step } from "./view";

export type Format = "markdown" | "json" | "html";

const KINDS: Record<Format, [string, string]> = { markdown: ["md", "text/markdown"], json: ["json", "application/json"], html: ["html", "text/html"] };

export async function save(conversation: string, title: string, turns: Turn[], format: Format): Promise<void> {
  const [suffix, mime] = KINDS[format];
  const text = format === "markdown" ? asMarkdown(title, turns) : format === "json" ? asJson(title, turns) : await api.asPage(conversation, turns.at(-1)?.run ?? "");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: mime }));
  link.download = `${title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "conversation"}.${suffix}`;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function asMarkdown(title: string, turns: Turn[]): string {
  const parts = [`# ${title}`];
  for (const turn of turns) {
    parts.push(`## ${turn.question.split("\n")[0]}`);
    if (turn.question.includes("\n")) parts.push(turn.question);
    for (const item of turn.view.steps) parts.push(step(item));
    parts.push(turn.view.answer || (turn.view.error ? `**This did not work:** ${turn.view.error.message}` : ""));
  }
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

function step(item: Step): string {
  switch (item.kind) {
    case "call":
      return `> **${item.tool}** \`${JSON.stringify(item.args)}\`\n>\n${item.content.split("\n").map((line) => `> ${line}`).join("\n")}`;
    case "thought":
      return `> ${wordsOf(item).replaceAll("\n", "\n> ")}`;
    case "interrupt":
      return `> You added: ${item.texts.join("\n\n").replaceAll("\n", "\n> ")}`;
    case "compaction":
      return "";
    case "provider_use":
      return `> ${atProvider(item)}`;
    default: {
      const { title, text } = noteOf(item);
      return `> ${title}${text ? `: ${text.replaceAll("\n", "\n> ")}` : ""}`;
    }
  }
}

function asJson(title: string, turns: Turn[]): string {
  const listed = turns.map(({ run, agent, model, question, created, follows, view }) => ({
    run,
    follows,
    agent,
    model,
    question,
    created,
    steps: view.steps,
    answer: view.answer,
    error: view.error,
    result: view.done && { ...view.done, usage: { ...view.cost?.usage, total_tokens: view.cost?.total_tokens ?? 0 } },
  }));
  return JSON.stringify({ format: "treadle-conversation", version: 2, title, turns: listed }, null, 2);
}
