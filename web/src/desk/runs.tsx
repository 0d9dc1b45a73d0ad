// All runs: sums, charts, and the list in pages, for whatever the filter says.

import { useEffect, useRef, useState } from "preact/hooks";
import { count, money, plural, seconds, when } from "../format";
import { say } from "../model";
import { Bars, Meter } from "./charts";
import { desk, type Filter, type Group, type ListedRun, type Overview } from "./api";

const DAY = 86_400;
const PAUSE = 200;

export function Runs() {
  const [filter, setFilter] = useState<Filter>({});
  const [overview, setOverview] = useState<Overview | null>(null);
  const [all, setAll] = useState<Overview | null>(null);
  const [runs, setRuns] = useState<ListedRun[]>([]);
  const [next, setNext] = useState("");
  const [chosen, setChosen] = useState<string[]>([]);
  const turn = useRef(0);

  useEffect(() => {
    const mine = ++turn.current;
    const timer = window.setTimeout(() => void load(mine), Object.keys(filter).length ? PAUSE : 0);
    return () => window.clearTimeout(timer);
  }, [filter]);

  async function load(mine: number): Promise<void> {
    try {
      const [sums, page] = await Promise.all([desk.overview(filter), desk.runs(filter, "")]);
      if (mine !== turn.current) return;
      setOverview(sums);
      setAll((known) => known ?? sums);
      setRuns(page.runs);
      setNext(page.next);
      if (sums.pending) window.setTimeout(() => mine === turn.current && void load(mine), 300);
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
  }

  async function more(): Promise<void> {
    try {
      const page = await desk.runs(filter, next);
      setRuns([...runs, ...page.runs]);
      setNext(page.next);
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
  }

  const choose = (run: string) => setChosen((now) => (now.includes(run) ? now.filter((one) => one !== run) : [...now, run].slice(-2)));
  return (
    <div class="desk" tabIndex={-1}>
      <header class="desk-head">
        <h1>Runs</h1>
        <p class="quiet" role="status">
          {overview ? `${plural(overview.runs, "run")}${overview.pending ? `; ${plural(overview.pending, "older one")} still being counted` : ""}` : "…"}
        </p>
      </header>
      <FilterBar filter={filter} all={all} change={(change) => setFilter((now) => clean({ ...now, ...change }))} />
      {overview && overview.runs > 0 && <Sums overview={overview} choose={(change) => setFilter((now) => clean({ ...now, ...change }))} />}
      <section aria-label="List of runs">
        <div class="desk-row">
          <h2>List</h2>
          {chosen.length === 2 ? (
            <a class="button" href={`#/compare/${chosen.map(encodeURIComponent).join("/")}`}>
              Compare the two
            </a>
          ) : (
            <span class="quiet">Mark two to compare them.</span>
          )}
        </div>
        <List runs={runs} chosen={chosen} choose={choose} />
        {next && (
          <button type="button" class="link more" onClick={() => void more()}>
            Older runs
          </button>
        )}
        {overview && !runs.length && <p class="quiet">No run fits.</p>}
      </section>
    </div>
  );
}

const clean = (filter: Filter): Filter => Object.fromEntries(Object.entries(filter).filter(([, value]) => value));

function FilterBar({ filter, all, change }: { filter: Filter; all: Overview | null; change: (change: Filter) => void }) {
  const spans: [string, number][] = [["Last hour", 3600], ["Last day", DAY], ["Last week", 7 * DAY], ["Last 30 days", 30 * DAY]];
  return (
    <form class="filter" role="search" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <label>
        <span>Text</span>
        <input type="search" value={filter.text ?? ""} placeholder="Question or note" onInput={(event) => change({ text: event.currentTarget.value })} />
      </label>
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

function Sums({ overview, choose }: { overview: Overview; choose: (change: Filter) => void }) {
  const share = overview.ended ? Math.round((100 * overview.succeeded) / overview.ended) : 0;
  const cached = overview.input_tokens ? Math.round((100 * overview.cached_tokens) / overview.input_tokens) : 0;
  return (
    <>
      <dl class="totals">
        <Total name="Runs" value={count(overview.runs)} />
        <Total name="Succeeded" value={overview.ended ? `${share} %` : "–"} />
        {overview.cost !== null && <Total name="Cost" value={money(overview.cost)} />}
        <Total name="Tokens" value={count(overview.input_tokens + overview.output_tokens)} />
        <Total name="From cache" value={`${cached} %`} />
        <Total name="Half took less than" value={seconds(overview.median_elapsed)} />
        <Total name="19 of 20 less than" value={seconds(overview.slow_elapsed)} />
        <Total name="Model calls" value={count(overview.requests)} />
        <Total name="Tool calls" value={count(overview.tool_calls)} />
        <Total name="Failed calls" value={count(overview.failed_calls)} />
        <Total name="Thumbs up, down" value={`${overview.thumbs.up ?? 0}, ${overview.thumbs.down ?? 0}`} />
      </dl>
      <section aria-label="Runs over time">
        <h2>Over time</h2>
        <Bars spans={overview.spans} span={overview.span} />
      </section>
      <div class="columns">
        <Ends overview={overview} choose={choose} />
        <Groups name="Agent" groups={overview.agents} pick={(agent) => choose({ agent })} />
        <Groups name="Model" groups={overview.models} pick={(model) => choose({ model })} />
        <Tools overview={overview} />
      </div>
    </>
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
  const ends = Object.entries(overview.stop_reasons).sort(([, a], [, b]) => b - a);
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
