// The part of the server's API that tells the grounds of an answer.

import { call, url } from "../api";
import type { LedgerEntry } from "../items";

export interface Ground {
  run: string;
  seq: number;
  quote: string;
}

export interface Claim {
  text: string;
  /** `words`: its words stand in the records, whatever they mean there. */
  status: "supported" | "receipted" | "contradicted" | "words" | "unsupported" | "empty";
  why?: string;
  /** What the calls that acted say about it. */
  receipt?: { outcome: "receipted" | "contradicted" | "unclear"; calls?: string[]; why?: string };
  grounds?: Ground[];
  /** `seq` is missing where no record has the number. */
  numbers?: { text: string; run?: string; seq?: number; worked_out?: string }[];
}

export interface Grounds {
  claims: Claim[];
  counts: Partial<Record<Claim["status"], number>>;
  ledger: LedgerEntry[];
  complete: boolean;
}

export const groundsOf = (run: string) => call<Grounds>("GET", `/api/runs/${encodeURIComponent(run)}/grounds`);
export const proofUrl = (run: string) => url(`/api/runs/${encodeURIComponent(run)}/proof`);
