// The runs of a conversation as a tree: each follows another one, and runs that follow the same one are branches.

import type { QuestionFile } from "./types";

export interface Line {
  run: string;
  agent: string;
  model: string;
  question: string;
  created: number;
  /** The run it continues; empty for those that begin the conversation. */
  follows: string;
  /** What was sent with the question. */
  files: QuestionFile[];
}

/** From the beginning of the conversation to that run. */
export function pathTo(lines: Line[], leaf: string): Line[] {
  const byRun = new Map(lines.map((line) => [line.run, line]));
  const path: Line[] = [];
  for (let line = byRun.get(leaf); line && path.length <= lines.length; line = byRun.get(line.follows)) path.unshift(line);
  return path;
}

/** The newest run that comes of that one, or of any when none is named. */
export function newest(lines: Line[], from = ""): string {
  const within = new Set([from]);
  let last = from;
  for (const line of lines) {
    if (!within.has(line.follows) && line.run !== from) continue;
    within.add(line.run);
    last = line.run;
  }
  return last;
}

/** The runs that stand in the same place, that one among them, oldest first. */
export function versions(lines: Line[], run: string): Line[] {
  const follows = lines.find((line) => line.run === run)?.follows;
  return lines.filter((line) => line.follows === follows);
}
