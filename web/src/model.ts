// What the page knows, and everything a person can do with it.

import { api, ApiError } from "./api";
import { newest, pathTo, type Line } from "./branches";
import { forgetOptions, keepOptions, keptOptions, type Options } from "./options";
import { follow, type Connection } from "./follow";
import type { Attachment } from "./attachments";
import { withAttachments } from "./attachments";
import { decoded } from "./places";
import { createStore } from "./store";
import type { AgentLine, CallResult, ConversationLine, Decision, Json, ServerEvent } from "./types";
import { applied, decided, EMPTY, type RunView } from "./view";

export interface Turn extends Line {
  view: RunView;
  connection: Connection;
  /** Nobody drives it: the process that did is gone. */
  left: boolean;
  /** The status with which the server has refused to show it. */
  refused: number;
}

export interface Unread {
  id: string;
  run: string;
  text: string;
}

export interface State {
  options: Options;
  /** Words put into the message box by something else. */
  draft: string;
  /** The turn to be shown, after a search. */
  target: string;
  help: boolean;
  door: "unknown" | "open" | "token";
  user: string;
  agents: AgentLine[];
  agent: string;
  conversations: ConversationLine[];
  conversation: string;
  /** All runs of the conversation; where it has branches, not all of them are shown. */
  lines: Line[];
  /** The branch that is shown. */
  turns: Turn[];
  unread: Unread[];
  inspected: string;
  /** The record that the inspector is to show, with a number for each time it is asked for. */
  record: { run: string; seq: number; asked: number } | null;
  sidebar: boolean;
  notice: string;
  loading: boolean;
  /** Why the page or the conversation could not be read. */
  failed: string;
  /** Why the list of conversations could not be read. */
  unlisted: string;
  /** How many of the newest runs the list of conversations is made from. */
  looked: number;
}

export const store = createStore<State>({
  options: {},
  draft: "",
  target: "",
  help: false,
  door: "unknown",
  user: "",
  agents: [],
  agent: "",
  conversations: [],
  conversation: "",
  lines: [],
  turns: [],
  unread: [],
  inspected: "",
  record: null,
  sidebar: false,
  notice: "",
  loading: false,
  failed: "",
  unlisted: "",
  looked: 200,
});

export const MOST = 10_000;
const LEFT_AFTER = 3000;
const followed = new Map<string, () => void>();
/** Every run that was shown, those of other branches too. */
export const known = new Map<string, Turn>();
/** Runs that the server does not know yet, until it has said that they began. */
const starting = new Map<string, Promise<Response>>();
/** How many of the last turns are read at once; the others when they come into sight. */
const FIRST = 12;
let noticeTimer = 0;

export function say(notice: string): void {
  store.set({ notice });
  window.clearTimeout(noticeTimer);
  if (notice) noticeTimer = window.setTimeout(() => store.set({ notice: "" }), 6000);
}

/** Runs an action; what goes wrong is said, never thrown away. */
export async function attempt(action: () => Promise<void>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) store.set({ door: "token" });
    else say(reason(error));
    return false;
  }
}

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

// ---- coming in

export const enter = () =>
  attempt(async () => {
    store.set({ failed: "" });
    try {
      const session = await api.session();
      if (session.needs_token) return store.set({ door: "token" });
      const agents = await api.agents(); // before the door opens: a question needs an agent to go to
      idPrefix = session.id_prefix;
      store.set({ door: "open", user: session.user, agents, agent: agents[0]?.name ?? "" });
    } catch (error) {
      return store.set({ failed: reason(error) });
    }
    await Promise.all([visit(), refresh()]);
  });

export const logIn = (token: string) =>
  attempt(async () => {
    try {
      await api.logIn(token);
    } catch (error) {
      return say(reason(error));
    }
    await enter();
  });

export const logOut = () =>
  attempt(async () => {
    await api.logOut();
    leave();
    store.set({ door: "token", user: "", conversations: [], lines: [], turns: [], conversation: "" });
  });

/** The list of conversations. Never throws: nothing that was done is undone because the list did not come. */
export async function refresh(): Promise<void> {
  try {
    store.set({ conversations: await api.conversations(store.get().looked), unlisted: "" });
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) store.set({ door: "token" });
    store.set({ unlisted: reason(error) });
  }
}

/** Conversations further back. */
export const older = () =>
  attempt(async () => {
    store.set((now) => ({ looked: Math.min(MOST, now.looked * 5) }));
    await refresh();
  });

// ---- going from conversation to conversation

/** Shows what the address names: `#/c/<conversation>`, one branch of it (`#/c/<conversation>/<its last run>`), or a new conversation. */
export const visit = (anew = false) =>
  attempt(async () => {
    const [id = "", leaf = ""] = (/^#\/c\/([^/]+)(?:\/([^/]+))?$/.exec(location.hash)?.slice(1) ?? []).map((part) => decoded(part ?? ""));
    if (!anew && id === store.get().conversation && (id || !store.get().turns.length)) return id ? show(leaf) : undefined;
    leave();
    store.set({ conversation: id, lines: [], turns: [], inspected: "", sidebar: false, unread: [], loading: !!id, failed: "", options: keptOptions(id), target: "" });
    if (!id) return;
    try {
      let found = await api.conversation(id);
      if (found.more) found = await api.conversation(id, MOST);
      if (store.get().conversation !== id) return;
      // What was asked while the list was on its way stays: it may or may not be in it.
      const asked = store.get().lines;
      const past = found.runs.map(({ run_id: run, agent, model, question, created, follows, files }) => ({ run, agent, model, question, created, follows, files }));
      const listed = new Set(past.map((line) => line.run));
      for (const line of found.runs) if (line.status === "finished") over.add(line.run_id);
      const late = asked.filter((line) => !listed.has(line.run)).map((line) => ({ ...line, follows: line.follows || past.at(-1)?.run || "" }));
      store.set({ lines: [...past, ...late], loading: false });
      show(leaf);
    } catch (error) {
      store.set({ loading: false });
      if (error instanceof ApiError && error.status === 404) {
        location.hash = "#/";
        say("This conversation no longer exists.");
      } else if (error instanceof ApiError && error.status === 401) throw error;
      else if (store.get().conversation === id) store.set({ failed: reason(error) });
    }
  });

/** Shows the newest branch with that run in it; the newest of all when there is none of that name. */
function show(leaf: string): void {
  const { lines, agents } = store.get();
  const found = lines.some((line) => line.run === leaf);
  const end = newest(lines, found ? leaf : "");
  const turns = pathTo(lines, end).map((line) => ({ ...(known.get(line.run) ?? turn(line)), ...line }));
  for (const one of turns) known.set(one.run, one);
  const agent = turns.at(-1)?.agent ?? "";
  store.set({ turns, target: end === leaf ? "" : found ? leaf : "", ...(agents.some((one) => one.name === agent) ? { agent } : {}) });
  for (const one of turns.slice(-FIRST)) watch(one.run);
}

const hash = (conversation: string, leaf = "") => (conversation ? `#/c/${encodeURIComponent(conversation)}${leaf && `/${encodeURIComponent(leaf)}`}` : "#/");

/** Names what is shown in the address, without going anywhere. */
function address(conversation: string, leaf = ""): void {
  history.replaceState(null, "", hash(conversation, leaf));
}

export function go(conversation: string, leaf = ""): void {
  location.hash = hash(conversation, leaf);
  store.set({ sidebar: false });
}

/** Another version of a turn, with what came of it. */
export function toBranch(run: string): void {
  const { conversation, lines } = store.get();
  const leaf = newest(lines, run);
  address(conversation, leaf === newest(lines) ? "" : leaf);
  show(leaf);
}

/** Opens the inspector at a record, of this run or of one inside it. */
export function inspect(run: string, seq: number): void {
  store.set((now) => ({ inspected: run, record: { run, seq, asked: (now.record?.asked ?? 0) + 1 } }));
}

function leave(): void {
  for (const stop of followed.values()) stop();
  followed.clear();
  known.clear();
  over.clear();
}

function turn(line: Line): Turn {
  return { ...line, view: EMPTY, connection: "connecting", left: false, refused: 0 };
}

function update(run: string, change: (turn: Turn) => Partial<Turn>): void {
  const before = known.get(run);
  if (!before) return;
  const after = { ...before, ...change(before) };
  known.set(run, after);
  store.set((now) => (now.turns.some((one) => one.run === run) ? { turns: now.turns.map((one) => (one.run === run ? after : one)) } : {}));
}

/** Reads what came of a turn, once it is looked at. */
export function watch(run: string): void {
  if (followed.has(run)) return;
  let arrived: ServerEvent[] = [];
  let drawing = 0;
  const draw = () => {
    drawing = 0;
    const events = arrived;
    arrived = [];
    const before = known.get(run)?.view;
    update(run, (one) => ({ view: applied(one.view, events) }));
    const after = known.get(run)?.view;
    forget(run);
    if (after?.done && !before?.done) void ended(run);
    else if (!over.has(run) && after?.paused !== before?.paused) void attempt(refresh);
  };
  const stop = follow(run, {
    event(event) {
      arrived.push(event);
      // Many events a second are drawn at once, once a frame; a hidden page has no frames.
      drawing ||= document.hidden ? window.setTimeout(draw, 100) : requestAnimationFrame(draw);
    },
    connection: (connection) => {
      update(run, () => ({ connection }));
      if (connection === "open" && store.get().unlisted) void refresh();
    },
    refused: (status) => (status === 401 ? store.set({ door: "token" }) : update(run, () => ({ refused: status }))),
  }, starting.get(run));
  followed.set(run, stop);
  window.setTimeout(() => void lookAfter(run), LEFT_AFTER);
}

/** A run that is under way according to its log, but that nobody drives, can be taken up again. */
const lookAfter = (run: string) =>
  attempt(async () => {
    await starting.get(run)?.catch(() => undefined);
    const one = store.get().turns.find((turn) => turn.run === run);
    if (!one || one.view.done || one.view.waiting.length) return;
    const { live, status } = await api.run(run);
    update(run, () => ({ left: (status === "idle" || status === "parked") && !live }));
  });

/** Asks once more for a run that the server has refused to show. */
export function watchAgain(run: string): void {
  followed.delete(run);
  update(run, () => ({ refused: 0 }));
  watch(run);
}

export const takeUp = (run: string) =>
  attempt(async () => {
    await api.resume(run);
    update(run, () => ({ left: false }));
  });

function forget(run: string): void {
  const read = new Set(store.get().turns.find((one) => one.run === run)?.view.read);
  if (store.get().unread.some((message) => read.has(message.id))) {
    store.set((now) => ({ unread: now.unread.filter((message) => !read.has(message.id)) }));
  }
}

/** Runs that had ended when the conversation was read: reading one of them tells the list nothing new. */
const over = new Set<string>();

/** What was said too late for a run to read becomes the next question. */
const ended = (run: string) =>
  attempt(async () => {
    if (over.has(run)) return;
    over.add(run);
    const late = store.get().unread.filter((message) => message.run === run);
    store.set((now) => ({ unread: now.unread.filter((message) => message.run !== run) }));
    const unheard: string[] = [];
    for (const message of late) if (await api.recall(run, message.id)) unheard.push(message.text);
    const turn = store.get().turns.find((one) => one.run === run);
    // A model that was given by its address has a name since its server was asked.
    const met = store.get().agents.some((one) => one.name === turn?.agent && turn.view.model && !one.models.includes(turn.view.model));
    if (met) store.set({ agents: await api.agents() });
    await refresh();
    const stopped = turn?.view.done?.stop_reason === "cancelled";
    if (unheard.length && !stopped) await ask(unheard.join("\n\n"));
  });

// ---- talking

export function current(state: State): Turn | undefined {
  const last = state.turns.at(-1);
  return last && !last.view.done ? last : undefined;
}

export const submit = (words: string, files: Attachment[] = []) => attempt(() => (current(store.get()) ? interrupt(words) : ask(words, files)));

async function ask(words: string, files: Attachment[] = []): Promise<void> {
  const { conversation, turns, agent, agents, options } = store.get();
  const { model, preset, settings } = choice(options, agents.find((one) => one.name === agent));
  const { question, shown } = withAttachments(words, files);
  const run = newId();
  const follows = turns.at(-1)?.run ?? "";
  if (files.length) sentFiles.set(run, files.map(({ mime, data }) => `data:${mime};base64,${data}`));
  keepOptions(conversation || run, options);
  // Its own model needs no name, which may be another one since the page was loaded.
  const own = agents.find((one) => one.name === agent)?.model;
  const start = api.start({ question, run_id: run, agent, model: model === own ? "" : model, preset, settings, ...(conversation ? { conversation } : {}), ...(follows ? { follows } : {}) });
  starting.set(run, start);
  add({ run, agent, model, question: shown, created: Date.now() / 1000, follows, files: files.map(({ kind, mime, name }) => ({ kind, mime, name })) });
  // The address names the conversation from the first moment: whoever reads it next must not find it empty.
  address(conversation || run);
  store.set((now) => ({ conversation: now.conversation || run }));
  watch(run);
  try {
    const answer = await start;
    starting.delete(run);
    if (!followed.has(run)) await answer.body?.cancel(); // another conversation is shown now
    await refresh();
  } catch (error) {
    starting.delete(run);
    followed.get(run)?.();
    followed.delete(run);
    if (!conversation) address("");
    store.set((now) => ({ lines: now.lines.filter((one) => one.run !== run), turns: now.turns.filter((one) => one.run !== run), conversation }));
    throw error;
  }
}

/** What goes with a question; a model or preset that the agent has not got is its own instead. */
function choice(options: Options, agent: AgentLine | undefined): { model: string; preset: string; settings: Record<string, Json> } {
  const { model, preset, ...settings } = JSON.parse(JSON.stringify(options)) as Options;
  return {
    model: model && agent?.models.includes(model) ? model : agent?.model ?? "",
    preset: preset && agent?.presets.includes(preset) ? preset : "",
    settings: settings as Record<string, Json>,
  };
}

/** The model that answers the next question, or the one now. */
export function modelInUse(now: State): string {
  const last = now.turns.at(-1);
  if (last && !last.view.done) return last.view.model || last.model;
  return choice(now.options, now.agents.find((one) => one.name === now.agent)).model || last?.model || "";
}

/** What was sent with a question from this page, before the server can give it back. */
export const sentFiles = new Map<string, string[]>();

export function setOptions(options: Options): void {
  store.set({ options });
  if (store.get().conversation) keepOptions(store.get().conversation, options);
}

/** A new run at the end of the branch that leads to it. */
function add(line: Line): void {
  known.set(line.run, turn(line));
  store.set((now) => ({ lines: [...now.lines, line] }));
  const turns = store.get().turns;
  const at = turns.findIndex((one) => one.run === line.follows);
  store.set({ turns: [...turns.slice(0, at + 1), known.get(line.run) as Turn], target: "" });
}

/** Asks again in place of a turn: another question, the same one, or (`keep`) from where it failed or was stopped. */
export const again = (run: string, question = "", keep = false) =>
  attempt(async () => {
    const old = store.get().lines.find((line) => line.run === run);
    if (!old) return;
    const created = await api.branch(run, keep ? {} : { at: 0, ...(question ? { question } : {}) });
    address(store.get().conversation);
    add({ ...old, run: created.run_id, created: Date.now() / 1000, ...(question ? { question } : {}) });
    watch(created.run_id);
    await refresh();
  });

async function interrupt(words: string): Promise<void> {
  const run = current(store.get())?.run;
  if (!run) return;
  try {
    await starting.get(run);
    const { id } = await api.send(run, words);
    const read = current(store.get())?.view.read.includes(id);
    if (!read) store.set((now) => ({ unread: [...now.unread, { id, run, text: words }] }));
  } catch (error) {
    // It ended in the same moment: then these words are the next question.
    if (error instanceof ApiError && error.status === 409) await ask(words);
    else throw error;
  }
}

export const recall = (message: Unread) =>
  attempt(async () => {
    const taken = await api.recall(message.run, message.id);
    store.set((now) => ({ unread: now.unread.filter((one) => one.id !== message.id) }));
    if (!taken) say("It has been read already.");
  });

export const stop = () =>
  attempt(async () => {
    const run = current(store.get())?.run;
    if (!run) return;
    await starting.get(run);
    await api.cancel(run);
  });

/** What is wrong with the decision, in the server's words; empty when it was taken. */
export const decide = (run: string, decision: Decision) => settle(run, [decision.call_id], () => api.decide(run, decision));

/** One decision about all of these calls. */
export const decideAll = (run: string, calls: string[], all: boolean) => settle(run, calls, () => api.decide(run, { all }));

export const answerCall = (run: string, result: CallResult) => settle(run, [result.call_id], () => api.answer(run, result));

/** What is wrong with a decision or a result, if the server says so; else the call waits no more. */
async function settle(run: string, calls: string[], send: () => Promise<unknown>): Promise<string> {
  let problem = "";
  await attempt(async () => {
    try {
      await send();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 422) throw error;
      problem = error.message;
      return;
    }
    for (const call of calls) update(run, (one) => ({ view: decided(one.view, call) }));
  });
  return problem;
}

export const fork = (run: string, at: number, message: string) =>
  attempt(async () => {
    const created = await api.fork(run, at, message);
    await refresh();
    go(created.conversation);
  });

/** Another title for a conversation; an empty one gives it its first question back. */
export const rename = (conversation: string, title: string) =>
  attempt(async () => {
    await api.rename(conversation, title);
    await refresh();
  });

export const remove = (conversation: string) =>
  attempt(async () => {
    await api.deleteConversation(conversation);
    forgetOptions(conversation);
    if (store.get().conversation === conversation) go("");
    await refresh();
  });

let idPrefix = "";

/** Begins as the server wants this user's ids to begin: then the run has it as it is. */
function newId(): string {
  const id = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return idPrefix + id.slice(idPrefix.length);
}
