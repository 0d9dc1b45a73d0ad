// The run of an agent that was used as a tool, inside the card of the call: its steps, and its words while it writes.

import { useEffect, useReducer } from "preact/hooks";
import { follow } from "../follow";
import { brief } from "../format";
import type { ServerEvent } from "../types";
import { applied, atProvider, EMPTY, noteOf, wordsOf, type RunView, type Step } from "../view";

const grown = (view: RunView, event: ServerEvent): RunView => applied(view, [event]);

export function ChildRun({ run }: { run: string }) {
  const [view, add] = useReducer(grown, EMPTY);
  useEffect(() => follow(run, { event: add, connection: () => undefined, refused: () => undefined }), [run]);
  if (!view.steps.length && !view.answer) return null;
  return (
    <>
      <h2>What it did</h2>
      <ol class="child" aria-label="Steps of the agent">
        {view.steps.map((item) => (
          <li key={item.id}>{line(item)}</li>
        ))}
      </ol>
      {!view.done && view.answer && <p class="quiet">{view.answer}</p>}
    </>
  );
}

function line(item: Step): string {
  switch (item.kind) {
    case "call":
      return `${item.tool} ${brief(item.args)}${item.error ? `: ${item.error}` : ""}`;
    case "thought":
      return wordsOf(item);
    case "interrupt":
      return item.texts.join("\n\n");
    case "compaction":
      return `Context compacted: ${item.original_messages} messages to ${item.kept_messages}`;
    case "provider_use":
      return atProvider(item);
    default: {
      const { title, text } = noteOf(item);
      return text ? `${title}: ${text}` : title;
    }
  }
}
