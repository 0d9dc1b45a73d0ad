import { useLayoutEffect, useRef } from "preact/hooks";
import { examples } from "../examples";
import { store, visit } from "../model";
import { Failed } from "../reading";
import { plural } from "../format";
import { useStore } from "../store";
import { Head } from "./head";
import { Mark } from "./mark";
import { Turns } from "./window";

const NEAR = 120;

export function Talk() {
  const turns = useStore(store, (now) => now.turns);
  const loading = useStore(store, (now) => now.loading);
  const failed = useStore(store, (now) => now.failed);
  const target = useStore(store, (now) => now.target);
  const place = useRef<HTMLDivElement>(null);
  const pinned = useRef(true);
  const held = useRef("");

  const seen = useRef(0);
  const last = turns.at(-1)?.run;

  // Follows the end of the talk as long as the reader is there; a reader who has scrolled up is left alone.
  const follow = () => {
    const box = place.current;
    if (box && pinned.current && !held.current) box.scrollTop = box.scrollHeight;
  };
  useLayoutEffect(() => {
    pinned.current = !target;
  }, [last, target]);
  useLayoutEffect(follow, [turns]);

  return (
    <>
      <Head />
      <div
        class="talk"
        ref={place}
        tabIndex={-1}
        onScroll={(event) => {
          const box = event.currentTarget;
          // Only a reader goes up: what grows above moves the place down.
          if (held.current) pinned.current = false;
          else if (box.scrollHeight - box.scrollTop - box.clientHeight < NEAR) pinned.current = true;
          else if (box.scrollTop < seen.current) pinned.current = false;
          seen.current = box.scrollTop;
        }}
      >
        {turns.length ? <Turns turns={turns} place={place} target={target} held={held} grown={follow} /> : failed ? <Failed what="This conversation could not be read" why={failed} again={() => void visit(true)} /> : loading ? <p class="quiet loading">Loading…</p> : <Welcome />}
      </div>
    </>
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
        <fieldset class="agent-choices">
          <legend class="visually-hidden">Agent</legend>
          {agents.map((agent) => (
            <label key={agent.name} class="agent-choice">
              <input type="radio" name="agent" value={agent.name} checked={agent.name === chosen} onChange={() => store.set({ agent: agent.name })} />
              <span class="agent-name">{agent.name}</span>
              <span class="quiet">{agent.description || `${agent.model}, ${plural(agent.tools.length, "tool")}`}</span>
            </label>
          ))}
        </fieldset>
      ) : (
        <p class="quiet">{agents[0]?.description || toolLine(agents[0]?.tools.map((tool) => tool.name) ?? [])}</p>
      )}
      <ul class="examples" aria-label="Examples">
        {examples(agents.find((one) => one.name === chosen) ?? agents[0]).map((words) => (
          <li key={words}>
            <button type="button" onClick={() => store.set({ draft: words })}>
              {words}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function toolLine(names: string[]): string {
  if (!names.length) return "";
  const shown = names.slice(0, 6).join(", ");
  return `It can use ${shown}${names.length > 6 ? ` and ${plural(names.length - 6, "more tool")}` : ""}.`;
}
