// All runs: sums, charts, and the list in pages, for whatever the filter says.

import { useEffect, useState } from "preact/hooks";
import { count, money, plural, seconds, when } from "../format";
import { Failed, useReading, Waiting } from "../reading";
import { Bars, Meter } from "./charts";
import { View } from "./view";
import { desk, type Filter, type Group, type ListedRun, type Overview } from "./api";

const DAY = 86_400;
const PAUSE = 200;

export function Runs() {
  const [filter, setFilter] = useState<Filter>({});
  const [settled, setSettled] = useState<Filter>({});
  const [all, setAll] = useState<Overview | null>(null);
  const [later, setLater] = useState<{ key: string; runs: ListedRun[]; next: string } | null>(null);
  const [chosen, setChosen] = useState<string[]>([]);
  const [counted, setCounted] = useState(0);

  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(filter), PAUSE);
    return () => window.clearTimeout(timer);
  }, [filter]);
  // Apart from each other: the list does not wait for the sums. What is shown stays until what is wanted now is there.
  const key = JSON.stringify(settled);
  const list = useReading(() => desk.runs(settled, ""), "list", key);
  const sums = useReading(() => desk.overview(settled), "sums", `${key} ${counted}`);
  const overview = sums.value;
  useEffect(() => {
    if (!overview) return;
    setAll((known) => known ?? overview);
    if (!overview.pending) return;
    const timer = window.setTimeout(() => setCounted(counted + 1), 300);
    return () => window.clearTimeout(timer);
  }, [overview]);

  const first = list.value ?? { runs: [], next: "" };
  const added = later?.key === key ? later : { key, runs: [], next: first.next };
  const [more, setMore] = useState("");
  async function older(): Promise<void> {
    setMore("");
    try {
      const page = await desk.runs(settled, added.next);
      setLater({ key, runs: [...added.runs, ...page.runs], next: page.next });
    } catch (error) {
      setMore(error instanceof Error ? error.message : String(error));
    }
  }

  const choose = (run: string) => setChosen((now) => (now.includes(run) ? now.filter((one) => one !== run) : [...now, run].slice(-2)));
  return (
    <View title="Runs" aside={overview ? `${plural(overview.runs, "run")}${overview.pending ? `; ${plural(overview.pending, "older one")} still being counted` : ""}` : "…"}>
      <FilterBar filter={filter} all={all} change={(change) => setFilter((now) => clean({ ...now, ...change }))} />
      {sums.failed ? (
        <Failed what="The sums could not be read" why={sums.failed} again={sums.again} />
      ) : (
        (!overview || overview.runs > 0) && <Sums overview={overview ?? NONE} counting={!overview} choose={(change) => setFilter((now) => clean({ ...now, ...change }))} />
      )}
      <section aria-label="List of runs">
        <div class="desk-row">
          <h2>All runs</h2>
          {chosen.length === 2 ? (
            <a class="button" href={`#/compare/${chosen.map(encodeURIComponent).join("/")}`}>
              Compare the two
            </a>
          ) : (
            <span class="quiet">Mark two to compare them.</span>
          )}
        </div>
        {(!list.value || list.failed) && <Waiting reading={list} what="The list could not be read" />}
        <List runs={[...first.runs, ...added.runs]} chosen={chosen} choose={choose} />
        {more && <Failed what="Older runs could not be read" why={more} again={() => void older()} />}
        {added.next && !more && (
          <button type="button" class="link more" onClick={() => void older()}>
            Older runs
          </button>
        )}
        {list.value && !first.runs.length && <p class="quiet">No run fits.</p>}
      </section>
    </View>
  );
}

/** In the place of the sums until they are there: what stands below must not move when they come. */
const NONE: Overview = {
  runs: 0, statuses: {}, stop_reasons: {}, ended: 0, succeeded: 0, requests: 0, tool_calls: 0, failed_calls: 0, input_tokens: 0, output_tokens: 0, cached_tokens: 0,
  cost: null, elapsed: 0, median_elapsed: 0, slow_elapsed: 0, thumbs: {}, tags: {}, agents: [], models: [], tools: [], span: DAY, spans: [], pending: 0,
};

const clean = (filter: Filter): Filter => Object.fromEntries(Object.entries(filter).filter(([, value]) => value));

function FilterBar({ filter, all, change }: { filter: Filter; all: Overview | null; change: (change: Filter) => void }) {
  const [open, setOpen] = useState(false);
  const set = Object.keys(filter).filter((name) => name !== "text").length;
  const spans: [string, number][] = [["Last hour", 3600], ["Last day", DAY], ["Last week", 7 * DAY], ["Last 30 days", 30 * DAY]];
  return (
    <form class={open ? "filter is-open" : "filter"} role="search" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <label>
        <span>Text</span>
        <input type="search" value={filter.text ?? ""} placeholder="Question or note" onInput={(event) => change({ text: event.currentTarget.value })} />
      </label>
      <button type="button" class="link filter-more" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Fewer filters" : `More filters${set ? ` (${set} set)` : ""}`}
      </button>
      <Choice name="Status" value={filter.status} from={["running", "idle", "paused", "parked", "finished"]} pick={(status) => change({ status })} />
      <Choice name="End" value={filter.stop_reason} from={Object.keys(all?.stop_reasons ?? {})} pick={(stop_reason) => change({ stop_reason })} />
      <Choice name="Agent" value={filter.agent} from={(all?.agents ?? []).map((one) => one.name)} pick={(agent) => change({ agent })} />
      <Choice name="Model" value={filter.model} from={(all?.models ?? []).map((one) => one.name)} pick={(model) => change({ model })} />
      <Choice name="Tag" value={filter.tag} from={Object.keys(all?.tags ?? {})} pick={(tag) => change({ tag })} />
      <Choice name="Thumb" value={filter.thumb} from={["up", "down"]} pick={(thumb) => change({ thumb })} />
      <label>
        <span>Started</span>
        <select onChange={(event) => change({ since: event.currentTarget.value && String(Math.floor(Date.now() / 1000) - Number(event.currentTarget.value)) })}>
          <option value="">At any time</option>
          {spans.map(([name, span]) => (
            <option key={name} value={span}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </form>
  );
}

function Choice({ name, value, from, pick }: { name: string; value: string | undefined; from: string[]; pick: (value: string) => void }) {
  return (
    <label>
      <span>{name}</span>
      <select value={value ?? ""} onChange={(event) => pick(event.currentTarget.value)}>
        <option value="">All</option>
        {from.filter(Boolean).map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  );
}

function Sums({ overview, counting, choose }: { overview: Overview; counting: boolean; choose: (change: Filter) => void }) {
  const share = overview.ended ? Math.round((100 * overview.succeeded) / overview.ended) : 0;
  const cached = overview.input_tokens ? Math.round((100 * overview.cached_tokens) / overview.input_tokens) : 0;
  return (
    <div class={counting ? "counting" : "all-sums"} aria-busy={counting}>
      <dl class={counting ? "totals not-yet" : "totals"}>
        <Total name="Runs" value={count(overview.runs)} />
        <Total name="Succeeded" value={overview.ended ? `${share} %` : "–"} />
        <Total name="Cost" value={money(overview.cost) || "–"} />
        <Total name="Tokens" value={count(overview.input_tokens + overview.output_tokens)} />
        <Total name="From cache" value={`${cached} %`} />
        <Total name="Median time" value={seconds(overview.median_elapsed)} />
        <Total name="95 % within" value={seconds(overview.slow_elapsed)} />
        <Total name="Model calls" value={count(overview.requests)} />
        <Total name="Tool calls" value={count(overview.tool_calls)} />
        <Total name="Failed calls" value={count(overview.failed_calls)} />
        <Total name="Thumbs up" value={count(overview.thumbs.up ?? 0)} />
        <Total name="Thumbs down" value={count(overview.thumbs.down ?? 0)} />
      </dl>
      <section aria-label="Runs over time">
        <h2>Over time</h2>
        <Bars spans={overview.spans} span={overview.span} />
      </section>
      <div class="columns">
        <div class="sums-box">
          <Ends overview={overview} choose={choose} />
        </div>
        <div class="sums-box">
          <Groups name="Agent" groups={overview.agents} pick={(agent) => choose({ agent })} />
        </div>
        <div class="sums-box">
          <Groups name="Model" groups={overview.models} pick={(model) => choose({ model })} />
        </div>
        <div class="sums-box" tabIndex={0} role="region" aria-label="Tools">
          <Tools overview={overview} />
        </div>
      </div>
    </div>
  );
}

function Total({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Ends({ overview, choose }: { overview: Overview; choose: (change: Filter) => void }) {
  const ends = Object.entries(overview.stop_reasons)
    .filter(([name]) => !(name in overview.statuses)) // a run that waits is listed once, below
    .sort(([, a], [, b]) => b - a);
  const open = Object.entries(overview.statuses).filter(([name]) => name !== "finished");
  return (
    <table class="sums">
      <thead>
        <tr>
          <th scope="col">End</th>
          <th scope="col">Runs</th>
        </tr>
      </thead>
      <tbody>
        {ends.map(([name, runs]) => (
          <Line key={name} name={name} part={runs} whole={overview.runs} pick={() => choose({ stop_reason: name })} values={[count(runs)]} />
        ))}
        {open.map(([name, runs]) => (
          <Line key={name} name={name} part={runs} whole={overview.runs} pick={() => choose({ status: name })} values={[count(runs)]} />
        ))}
      </tbody>
    </table>
  );
}

function Groups({ name, groups, pick }: { name: string; groups: Group[]; pick: (name: string) => void }) {
  const most = Math.max(1, ...groups.map((one) => one.runs));
  const priced = groups.some((one) => one.cost !== null);
  return (
    <table class="sums">
      <thead>
        <tr>
          <th scope="col">{name}</th>
          <th scope="col">Runs</th>
          <th scope="col">Good</th>
          <th scope="col">Tokens</th>
          {priced && <th scope="col">Cost</th>}
        </tr>
      </thead>
      <tbody>
        {groups.map((one) => (
          <Line key={one.name} name={one.name || "(none)"} part={one.runs} whole={most} pick={() => pick(one.name)} values={[count(one.runs), count(one.succeeded), count(one.tokens), ...(priced ? [money(one.cost)] : [])]} />
        ))}
      </tbody>
    </table>
  );
}

function Tools({ overview }: { overview: Overview }) {
  const most = Math.max(1, ...overview.tools.map((one) => one.calls));
  return (
    <table class="sums">
      <thead>
        <tr>
          <th scope="col">Tool</th>
          <th scope="col">Calls</th>
          <th scope="col">Failed</th>
          <th scope="col">Mean time</th>
        </tr>
      </thead>
      <tbody>
        {overview.tools.map((one) => (
          <Line key={one.name} name={one.name} part={one.calls} whole={most} values={[count(one.calls), count(one.failed), seconds(one.elapsed / Math.max(1, one.calls))]} />
        ))}
      </tbody>
    </table>
  );
}

function Line({ name, part, whole, values, pick }: { name: string; part: number; whole: number; values: string[]; pick?: () => void }) {
  return (
    <tr>
      <th scope="row">
        {pick ? (
          <button type="button" class="link" onClick={pick}>
            {name}
          </button>
        ) : (
          name
        )}
        <Meter part={part} whole={whole} />
      </th>
      {values.map((value, place) => (
        <td key={place}>{value}</td>
      ))}
    </tr>
  );
}

function List({ runs, chosen, choose }: { runs: ListedRun[]; chosen: string[]; choose: (run: string) => void }) {
  return (
    <ul class="runs">
      {runs.map((run) => (
        <li key={run.run_id} class="run">
          <input type="checkbox" aria-label={`Compare “${run.question.slice(0, 80)}”`} checked={chosen.includes(run.run_id)} onChange={() => choose(run.run_id)} />
          <a href={`#/c/${encodeURIComponent(run.conversation || run.run_id)}`} class="run-question">
            {run.question || "(no text)"}
          </a>
          <span class={`badge ${run.summary && !run.summary.success ? "bad" : run.status}`}>{run.status === "finished" ? run.stop_reason : run.status}</span>
          <span class="quiet run-facts">
            {[
              run.agent,
              run.model,
              run.summary ? seconds(run.summary.elapsed ?? 0) : "",
              run.summary ? `${count((run.summary.input_tokens ?? 0) + (run.summary.output_tokens ?? 0))} tokens` : "",
              money(run.summary?.cost ?? null),
              when(run.created),
              run.thumb && `thumb ${run.thumb}`,
              run.tags.map((tag) => `#${tag}`).join(" "),
              run.note && `“${run.note.slice(0, 60)}”`,
            ]
              .filter(Boolean)
              .join(" · ")}
          </span>
        </li>
      ))}
    </ul>
  );
}
