// Questions to begin with, made for the tools an agent has.

import type { AgentLine } from "./types";

const KNOWN: [RegExp, string][] = [
  [/calc|math|arith/i, "What is 17.5 % of 2 480, and what remains?"],
  [/retriev|knowledge|document|rag/i, "What do the documents say about the most important risks?"],
  [/web|search|fetch|brows|wiki|encyclop/i, "What is known about the tallest buildings, and where does it say so?"],
  [/python|code|exec|run_/i, "Compute the first twenty Fibonacci numbers and show how they grow."],
  [/file|dir|grep|glob|shell|bash/i, "Which files are here, and what is each of them for?"],
  [/date|time|clock|calendar/i, "How many working days are left this month?"],
  [/mail|message|slack|send/i, "Draft a short mail that moves our meeting to Thursday."],
  [/sql|database|query|table/i, "Which ten customers bought the most last year?"],
  [/weather/i, "What will the weather be like this weekend?"],
  [/chart|plot|draw|image/i, "Draw a chart of last year's sales by quarter."],
  [/pubmed|arxiv|paper/i, "Summarise the newest studies on sleep and memory."],
];
const GENERAL = ["Explain this to me as if I were new to it: how does a loom work?", "Compare three ways to store a million small records.", "Plan a weekend in Lisbon on foot."];
const MOST = 4;

export function examples(agent: AgentLine | undefined): string[] {
  const found: string[] = [];
  for (const tool of agent?.tools ?? []) {
    const words = `${tool.name} ${tool.description}`;
    const fitting = KNOWN.find(([pattern]) => pattern.test(tool.name))?.[1] ?? KNOWN.find(([pattern]) => pattern.test(words))?.[1];
    if (fitting && !found.includes(fitting)) found.push(fitting);
  }
  if (!found.length && agent?.tools.length) found.push(`What can you do with ${agent.tools[0]?.name}?`);
  return (found.length ? found : GENERAL).slice(0, MOST);
}
