// The run of an agent that was used as a tool, inside the card of the call: its steps, and its words while it writes.

import { useEffect, useReducer } from "preact/hooks";
import { follow } from "../follow";
import { brief } from "../format";
import type { ServerEvent } from "../types";
import { atProvider, EMPTY, reduce, type Item, type RunView } from "../view";

const grown = (view: RunView, event: ServerEvent): RunView => reduce(view, event);

export function ChildRun({ run }: { run: string }) {
  const [view, add] = useReducer(grown, EMPTY);
  useEffect(() => follow(run, { event: add, connection: () => undefined, refused: () => undefined }), [run]);
  if (!view.items.length && !view.answer) return null;
  return (
    <>
      <h2>What it did</h2>
      <ol class="child" aria-label="Steps of the agent">
        {view.items.map((item) => (
          <li key={item.key}>{line(item)}</li>
        ))}
      </ol>
      {!view.done && view.answer && <p class="quiet">{view.answer}</p>}
    </>
  );
}

function line(item: Item): string {
  switch (item.kind) {
    case "tool":
      return `${item.name} ${brief(item.args)}${item.error ? `: ${item.error}` : ""}`;
    case "thought":
    case "interrupt":
      return item.text;
    case "compaction":
      return `Context compacted: ${item.original} messages to ${item.kept}`;
    case "provider":
      return atProvider(item);
    case "note":
      return item.text ? `${item.title}: ${item.text}` : item.title;
  }
}
