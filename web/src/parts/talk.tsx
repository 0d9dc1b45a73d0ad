import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { current, store } from "../model";
import { useStore } from "../store";
import { Menu } from "./icons";
import { Mark } from "./mark";
import { TurnView } from "./turn";

const NEAR = 120;

export function Talk() {
  const turns = useStore(store, (now) => now.turns);
  const loading = useStore(store, (now) => now.loading);
  const place = useRef<HTMLDivElement>(null);
  const pinned = useRef(true);

  // Follows the end of the talk as long as the reader is there; a reader who has scrolled up is left alone.
  useLayoutEffect(() => {
    const box = place.current;
    if (box && pinned.current) box.scrollTop = box.scrollHeight;
  }, [turns]);
  useEffect(() => {
    pinned.current = true;
  }, [turns.length]);

  return (
    <>
      <Head />
      <div
        class="talk"
        ref={place}
        tabIndex={-1}
        onScroll={(event) => {
          const box = event.currentTarget;
          pinned.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
        }}
      >
        {turns.length ? turns.map((turn) => <TurnView key={turn.run} turn={turn} />) : loading ? <p class="quiet loading">Loading…</p> : <Welcome />}
      </div>
    </>
  );
}

function Head() {
  const title = useStore(store, (now) => now.conversations.find((line) => line.id === now.conversation)?.title ?? now.turns[0]?.question ?? "");
  const agent = useStore(store, (now) => now.turns.at(-1)?.agent ?? "");
  const busy = useStore(store, (now) => !!current(now));
  useEffect(() => {
    document.title = `${busy ? "● " : ""}${title || "Treadle"}`;
  }, [title, busy]);
  return (
    <header class="head">
      <button type="button" class="icon menu" aria-label="Conversations" onClick={() => store.set({ sidebar: true })}>
        <Menu />
      </button>
      <h1>{title || "New conversation"}</h1>
      {agent && <span class="agent-name">{agent}</span>}
    </header>
  );
}

function Welcome() {
  const agents = useStore(store, (now) => now.agents);
  const chosen = useStore(store, (now) => now.agent);
  return (
    <div class="welcome">
      <Mark size={56} />
      <h2>What shall we find out?</h2>
      {agents.length > 1 ? (
        <fieldset class="agents">
          <legend class="visually-hidden">Agent</legend>
          {agents.map((agent) => (
            <label key={agent.name} class="agent">
              <input type="radio" name="agent" value={agent.name} checked={agent.name === chosen} onChange={() => store.set({ agent: agent.name })} />
              <span class="agent-name">{agent.name}</span>
              <span class="quiet">{agent.description || `${agent.model}, ${agent.tools.length} tools`}</span>
            </label>
          ))}
        </fieldset>
      ) : (
        <p class="quiet">{agents[0]?.description || toolLine(agents[0]?.tools.map((tool) => tool.name) ?? [])}</p>
      )}
    </div>
  );
}

function toolLine(names: string[]): string {
  if (!names.length) return "";
  const shown = names.slice(0, 6).join(", ");
  return `It can use ${shown}${names.length > 6 ? ` and ${names.length - 6} more tools` : ""}.`;
}
