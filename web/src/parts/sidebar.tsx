import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { when } from "../format";
import { api } from "../api";
import { go, logOut, MOST, older, refresh, remove, store } from "../model";
import { Failed, useReading, type Reading } from "../reading";
import { useStore } from "../store";
import { nextTheme, theme, type Theme } from "../theme";
import type { ConversationLine, Hit } from "../types";
import { usePlace, type Place } from "../places";
import { Agents, Chart, Keys as KeysIcon, Memory, Out, Plus, Search, Sun, Trash } from "./icons";
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
  const alike = useMemo(() => startsOf(conversations), [conversations]);
  return (
    <nav class="sidebar" aria-label="Conversations" data-open={open}>
      <div class="brand">
        <Mark />
        <span>Treadle</span>
      </div>
      <button type="button" class="new" onClick={() => go("")} title="New conversation (Alt+N)">
        <Plus /> New conversation
      </button>
      <ul class="places">
        <Way to="runs" name="Runs" icon={<Chart size={16} />} />
        <Way to="agents" name="Agents" icon={<Agents size={16} />} />
        {remembers && <Way to="memory" name="Memory" icon={<Memory size={16} />} />}
      </ul>
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
                <Line key={line.id} line={line} chosen={line.id === chosen} alike={(alike.get(startOf(line))?.size ?? 0) > 1} />
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

function Way({ to, name, icon }: { to: Place["name"]; name: string; icon: ComponentChildren }) {
  const here = usePlace()?.name === to;
  return (
    <li>
      <a href={`#/${to}`} aria-current={here ? "page" : undefined} onClick={() => store.set({ sidebar: false })}>
        {icon} {name}
      </a>
    </li>
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

/** As much of a title as there is room for in one line. */
const startOf = (line: ConversationLine) => line.title.slice(0, 24).toLowerCase();

/** The titles that begin with the same words: they are shown whole where there are several. */
function startsOf(lines: ConversationLine[]): Map<string, Set<string>> {
  const starts = new Map<string, Set<string>>();
  for (const line of lines) starts.set(startOf(line), (starts.get(startOf(line)) ?? new Set()).add(line.title));
  return starts;
}

function Line({ line, chosen, alike }: { line: ConversationLine; chosen: boolean; alike: boolean }) {
  const busy = line.status !== "finished";
  return (
    <li class="conversation">
      <button type="button" class="open" aria-current={chosen ? "page" : undefined} onClick={() => go(line.id)}>
        {busy && <span class={`dot ${line.status}`} role="img" aria-label={{ paused: "waits for you", parked: "parked", idle: "left unfinished" }[line.status as string] ?? "working"} />}
        <span class={alike ? "title whole" : "title"} title={line.title}>{line.title || "(no text)"}</span>
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
