// What a person has chosen for a conversation, kept in this browser until the conversation is deleted.

/** Settings of the next question; what is not given is as the agent has it. */
export interface Options {
  model?: string | undefined;
  preset?: string | undefined;
  answer?: "direct" | "synthesize" | "complete" | undefined;
  max_iterations?: number | undefined;
  temperature?: number | undefined;
  max_tokens?: number | undefined;
}

const OPTIONS = "treadle-options-";

export function keptOptions(conversation: string): Options {
  try {
    return JSON.parse(localStorage.getItem(OPTIONS + conversation) ?? "{}");
  } catch {
    return {};
  }
}

export function keepOptions(conversation: string, options: Options): void {
  try {
    localStorage.setItem(OPTIONS + conversation, JSON.stringify(options));
  } catch {
    // A browser that keeps nothing still uses them for now.
  }
}

export function forgetOptions(conversation: string): void {
  try {
    localStorage.removeItem(OPTIONS + conversation);
  } catch {
    // As above.
  }
}
