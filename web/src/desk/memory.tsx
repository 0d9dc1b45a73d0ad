// What agents remember: about whom, from which run. Everything can be changed, and forgotten for good.

import { useState } from "preact/hooks";
import { plural, when } from "../format";
import { say } from "../model";
import { useReading, Waiting } from "../reading";
import { desk, type Memo, type MemoryStore } from "./api";
import { View } from "./view";

export function Memory() {
  const [version, setVersion] = useState(0);
  const reading = useReading(desk.stores, "memory", version);
  const stores = reading.value;
  return (
    <View title="Memory" aside="What agents found out for their users, kept for later runs.">
      {!stores && <Waiting reading={reading} what="The memories could not be read" />}
      {stores?.length === 0 && <p>No agent of this server remembers anything: none has the plug-in Memory.</p>}
      {stores?.map((store) => (
        <Store key={store.name} store={store} changed={() => setVersion(version + 1)} />
      ))}
    </View>
  );
}

function Store({ store, changed }: { store: MemoryStore; changed: () => void }) {
  const users = Object.keys(store.about);
  const [chosen, setChosen] = useState("");
  const user = users.includes(chosen) ? chosen : (users[0] ?? "");
  const many = store.about[user] ?? 0;
  const forgetAll = () =>
    window.confirm(`Forget ${plural(many, "memory", "memories")} about ${user} for good?`) &&
    void told(async () => {
      const { forgotten } = await desk.forgetUser(store.name, user);
      say(`Forgotten: ${plural(forgotten, "memory", "memories")} about ${user}.`);
      changed();
    });
  return (
    <section aria-label={`Memories of ${store.agents.join(", ")}`}>
      <h2>{store.agents.join(", ")}</h2>
      {users.length > 1 && (
        <p class="filter">
          <label>
            About
            <select value={user} onChange={(event) => setChosen(event.currentTarget.value)}>
              {users.map((name) => (
                <option key={name} value={name}>
                  {name} ({store.about[name]})
                </option>
              ))}
            </select>
          </label>
        </p>
      )}
      {many === 0 ? (
        <p class="quiet">Nothing is remembered{user ? ` about ${user}` : ""}.</p>
      ) : (
        <>
          <p class="desk-row">
            <span>
              {plural(many, "memory", "memories")} about <strong>{user}</strong>
            </span>
            <button type="button" class="link" onClick={forgetAll}>
              Forget everything about {user}
            </button>
          </p>
          <Memories key={`${store.name} ${user} ${many}`} store={store.name} user={user} changed={changed} />
        </>
      )}
    </section>
  );
}

function Memories({ store, user, changed }: { store: string; user: string; changed: () => void }) {
  const [older, setOlder] = useState<{ memories: Memo[]; more: boolean } | null>(null);
  const reading = useReading(() => desk.memories(store, user, 0), `${store} ${user}`);
  if (!reading.value) return <Waiting reading={reading} what="The memories could not be read" />;
  const memories = [...reading.value.memories, ...(older?.memories ?? [])];
  const more = (older ?? reading.value).more;
  const next = () =>
    told(async () => {
      const page = await desk.memories(store, user, memories.at(-1)?.id ?? 0);
      setOlder({ memories: [...(older?.memories ?? []), ...page.memories], more: page.more });
    });
  return (
    <>
      <ul class="memories">
        {memories.map((memo) => (
          <MemoView key={memo.id} store={store} first={memo} changed={changed} />
        ))}
      </ul>
      {more && (
        <button type="button" class="link" onClick={() => void next()}>
          Older memories
        </button>
      )}
    </>
  );
}

function MemoView({ store, first, changed }: { store: string; first: Memo; changed: () => void }) {
  const [memo, setMemo] = useState(first);
  const [draft, setDraft] = useState<string | null>(null);
  const save = () =>
    told(async () => {
      setMemo(await desk.editMemory(store, memo.id, draft ?? ""));
      setDraft(null);
      say("Changed.");
    });
  const forget = () =>
    window.confirm(`Forget “${memo.summary.slice(0, 100)}” for good?`) &&
    void told(async () => {
      await desk.forgetMemory(store, memo.id);
      say("Forgotten.");
      changed();
    });
  return (
    <li class="memory">
      {draft === null ? (
        <p class="pre">{memo.summary}</p>
      ) : (
        <form
          class="tool-form"
          onSubmit={(event) => {
            event.preventDefault();
            void save();
          }}
        >
          <label>
            <span>What is remembered</span>
            <textarea maxLength={1000} rows={3} required value={draft} onInput={(event) => setDraft(event.currentTarget.value)} autofocus />
          </label>
          <p class="desk-row">
            <button type="submit" class="primary" disabled={!draft.trim()}>
              Save
            </button>
            <button type="button" onClick={() => setDraft(null)}>
              Cancel
            </button>
          </p>
        </form>
      )}
      <p class="desk-row quiet">
        <span>
          {when(memo.created)}, by {memo.agent || "an agent"}, for “{memo.question.slice(0, 120)}”
        </span>
        {memo.conversation ? <a href={`#/c/${encodeURIComponent(memo.conversation)}/${encodeURIComponent(memo.run_id)}`}>The run it comes from</a> : <span>its run is deleted</span>}
        {draft === null && (
          <>
            <button type="button" class="link" aria-label={`Edit memory ${memo.id}`} onClick={() => setDraft(memo.summary)}>
              Edit
            </button>
            <button type="button" class="link" aria-label={`Forget memory ${memo.id}`} onClick={forget}>
              Forget
            </button>
          </>
        )}
      </p>
    </li>
  );
}

async function told(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
  }
}
