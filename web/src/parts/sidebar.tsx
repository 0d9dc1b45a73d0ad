import { useEffect, useMemo, useState } from "preact/hooks";
import { when } from "../format";
import { api } from "../api";
import { go, logOut, MOST, older, refresh, remove, store } from "../model";
import { Failed, useReading, type Reading } from "../reading";
import { useStore } from "../store";
import { nextTheme, theme, type Theme } from "../theme";
import type { ConversationLine, Hit } from "../types";
import { Keys as KeysIcon, Out, Plus, Search, Sun, Trash } from "./icons";
import { Mark } from "./mark";

export function Sidebar() {
  const conversations = useStore(store, (now) => now.conversations);
  const chosen = useStore(store, (now) => now.conversation);
  const open = useStore(store, (now) => now.sidebar);
  const full = useStore(store, (now) => now.looked < MOST && now.conversations.reduce((sum, line) => sum + line.runs, 0) >= now.looked);
  const [wanted, setWanted] = useState("");
  const words = wanted.trim();
  const searching = useSearch(words);
  const found = searching.value;
  const remembers = useStore(store, (now) => now.agents.some((agent) => agent.remembers));
  const unlisted = useStore(store, (now) => now.unlisted);
  const groups = useMemo(() => grouped(conversations, wanted), [conversations, wanted]);
  return (
    <nav class="sidebar" aria-label="Conversations" data-open={open}>
      <div class="brand">
        <Mark />
        <span>Treadle</span>
      </div>
      <button type="button" class="new" onClick={() => go("")} title="New conversation (Alt+N)">
        <Plus /> New conversation
      </button>
      <p class="places">
        <a href="#/runs">Runs</a>
        <a href="#/agents">Agents</a>
        {remembers && <a href="#/memory">Memory</a>}
      </p>
      <label class="search">
        <Search size={16} />
        <span class="visually-hidden">Search conversations</span>
        <input id="search" type="search" placeholder="Search" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
      </label>
      <div class="conversations">
        {unlisted && <Failed what="The list could not be read" why={unlisted} again={() => void refresh()} />}
        {groups.map(([name, lines]) => (
          <section key={name}>
            <h2>{name}</h2>
            <ul>
              {lines.map((line) => (
                <Line key={line.id} line={line} chosen={line.id === chosen} />
              ))}
            </ul>
          </section>
        ))}
        {words.length > 1 && (
          <section aria-busy={found === null && !searching.failed}>
            <h2>In messages and results</h2>
            {searching.failed && <Failed what="The search failed" why={searching.failed} again={searching.again} />}
            {found?.hits.length === 0 && <p class="quiet empty">Nothing found.</p>}
            <ul>
              {found?.hits.map((hit) => (
                <li key={hit.run_id} class="hit">
                  <button type="button" class="open" onClick={() => go(hit.conversation, hit.run_id)}>
                    <span class="title">{hit.question}</span>
                    <span class="excerpt quiet">
                      {hit.where === "tool" ? `${hit.tool}: ` : ""}
                      {hit.excerpt}
                    </span>
                  </button>
                </li>
              ))}
            </ul>
            {found && !found.complete && <p class="quiet empty">There may be more: add words.</p>}
          </section>
        )}
        {full && (
          <button type="button" class="link older" onClick={() => void older()}>
            Older conversations
          </button>
        )}
        {!groups.length && words.length < 2 && !unlisted && <p class="quiet empty">{wanted ? "Nothing found." : "What you ask appears here."}</p>}
      </div>
      <Foot />
    </nav>
  );
}

const PAUSE = 250;

/** What is found in messages and results, once nothing was typed for a moment. */
function useSearch(words: string): Reading<{ hits: Hit[]; complete: boolean } | null> {
  const [settled, setSettled] = useState("");
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(words), PAUSE);
    return () => window.clearTimeout(timer);
  }, [words]);
  const found = useReading(() => (settled.length < 2 ? Promise.resolve(null) : api.search(settled)), settled);
  return settled === words ? found : { ...found, value: null, failed: "" };
}

function Line({ line, chosen }: { line: ConversationLine; chosen: boolean }) {
  const busy = line.status !== "finished";
  return (
    <li class="conversation">
      <button type="button" class="open" aria-current={chosen ? "page" : undefined} onClick={() => go(line.id)}>
        {busy && <span class={`dot ${line.status}`} role="img" aria-label={{ paused: "waits for you", parked: "parked", idle: "left unfinished" }[line.status as string] ?? "working"} />}
        <span class="title">{line.title || "(no text)"}</span>
        <time>{when(line.updated)}</time>
      </button>
      <button
        type="button"
        class="icon delete"
        aria-label={`Delete “${line.title}”`}
        disabled={line.status === "running"}
        onClick={() => window.confirm(`Delete “${line.title}” for good?`) && void remove(line.id)}
      >
        <Trash size={16} />
      </button>
    </li>
  );
}

function Foot() {
  const user = useStore(store, (now) => now.user);
  const [now, setNow] = useState<Theme>(theme());
  return (
    <div class="foot">
      <button type="button" class="icon" onClick={() => setNow(nextTheme())} aria-label={`Colours: ${now}. Change`} title={`Colours: ${now}`}>
        <Sun />
      </button>
      <button type="button" class="icon" onClick={() => store.set({ help: true })} aria-label="Keys" title="Keys (?)">
        <KeysIcon />
      </button>
      <span class="quiet">{user || "On this machine"}</span>
      {user && (
        <button type="button" class="icon" onClick={() => void logOut()} aria-label="Log out" title="Log out">
          <Out />
        </button>
      )}
    </div>
  );
}

function grouped(lines: ConversationLine[], wanted: string): [string, ConversationLine[]][] {
  const words = wanted.trim().toLowerCase();
  const today = new Date().setHours(0, 0, 0, 0) / 1000;
  const groups = new Map<string, ConversationLine[]>();
  for (const line of lines) {
    if (words && !line.title.toLowerCase().includes(words)) continue;
    const name = line.updated >= today ? "Today" : line.updated >= today - 86_400 ? "Yesterday" : line.updated >= today - 6 * 86_400 ? "This week" : "Earlier";
    groups.set(name, [...(groups.get(name) ?? []), line]);
  }
  return [...groups];
}
