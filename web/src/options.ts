// The settings a person has chosen for a conversation, kept as long as the tab is open.

/** Settings of the next question; what is not given is as the agent has it. */
export interface Options {
  answer?: "direct" | "synthesize" | "complete" | undefined;
  max_iterations?: number | undefined;
  temperature?: number | undefined;
  max_tokens?: number | undefined;
}

const OPTIONS = "treadle-options-";

export function keptOptions(conversation: string): Options {
  try {
    return JSON.parse(sessionStorage.getItem(OPTIONS + conversation) ?? "{}");
  } catch {
    return {};
  }
}

export function keepOptions(conversation: string, options: Options): void {
  try {
    sessionStorage.setItem(OPTIONS + conversation, JSON.stringify(options));
  } catch {
    // A browser that keeps nothing still uses them for now.
  }
}
