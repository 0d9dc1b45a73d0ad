// Why a run went wrong: a person says what it should have said, and sees the piece of the prompt or result that caused it.

import { useEffect, useState } from "preact/hooks";
import { count, money, plural } from "../format";
import { say } from "../model";
import { Check, Copy, Search } from "../parts/icons";
import { useReading, Waiting } from "../reading";
import type { Run } from "../types";
import { desk, type Cause, type Experiment, type Why } from "./api";
import { Lines } from "./difference";
import { Group } from "./group";

const LOOK = 700;
const REQUESTS = 60;
const KINDS: Record<string, string> = {
  nothing: "The same again",
  prompt: "The prompt",
  description: "What a tool says of itself",
  passage: "A message or a passage",
  result: "The result of a tool",
  again: "A call made again",
  setting: "Settings",
  threshold: "Decision thresholds",
  guard: "Plug-ins",
  tools: "The tools",
  dialect: "The dialect",
  model: "The model",
};

interface Expectation {
  answer?: string;
  call?: string;
  step: number;
}

export function WhyView({ run, body, steps }: { run: string; body: Run; steps: number[] }) {
  const [turn, setTurn] = useState(0);
  const [failed, setFailed] = useState("");
  const [asking, setAsking] = useState(false);
  const reading = useReading(() => desk.why(run), run, turn);
  const found = reading.value;
  useEffect(() => {
    if (!found?.running) return;
    const timer = setTimeout(() => setTurn((now) => now + 1), LOOK);
    return () => clearTimeout(timer);
  }, [found]);
  if (!found) return <Waiting reading={reading} what="This could not be read" />;
  const look = async (expected?: Expectation) => {
    setFailed("");
    try {
      if (expected) await desk.expected(run, expected);
      setAsking(false);
      await desk.search(run, REQUESTS);
    } catch (error) {
      setFailed(error instanceof Error ? error.message : String(error));
    }
    setTurn((now) => now + 1);
  };
  const known = found.marks.length > 0 || !body.success;
  return (
    <div class="why">
      {known && !asking ? (
        <Wanted found={found} body={body} change={() => setAsking(true)} look={() => void look()} />
      ) : (
        <Asked body={body} steps={steps} look={(expected) => void look(expected)} leave={known ? () => setAsking(false) : undefined} />
      )}
      {(failed || found.failed) && (
        <p class="why-failed" role="alert">
          {failed || found.failed}
        </p>
      )}
      {found.running && <Progress found={found} />}
      {found.causes.length > 0 && (
        <section aria-labelledby="why-cause">
          <h3 id="why-cause">{found.causes.length > 1 ? "What caused it: one of these changes is enough" : "What caused it"}</h3>
          <ol class="causes">
            {found.causes.map((cause) => (
              <Found key={cause.change + cause.step} run={run} cause={cause} />
            ))}
          </ol>
        </section>
      )}
      {!found.running && found.judge && !found.causes.length && <p class="why-none">No single change that was tried makes it right{found.complete ? "." : " so far: look further, and the search goes on from here."}</p>}
      {found.experiments.length > 0 && <Experiments run={run} found={found} />}
    </div>
  );
}

/** What a search may cost, by what the requests of this run cost. */
function costOf(body: Run): string {
  const many = Math.max(1, body.usage.requests);
  const price = body.usage.cost === null ? "" : `, about ${money((body.usage.cost / many) * REQUESTS)}`;
  return `At most ${REQUESTS} model requests (${count(Math.round((body.usage.total_tokens / many) * REQUESTS))} tokens${price}). No tool that changes something runs again.`;
}

function Asked({ body, steps, look, leave }: { body: Run; steps: number[]; look: (expected: Expectation) => void; leave: (() => void) | undefined }) {
  const [kind, setKind] = useState<"answer" | "call">("answer");
  const [text, setText] = useState("");
  const [step, setStep] = useState(0);
  const tools = [...new Set(body.tools)];
  return (
    <form
      class="why-asked"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim()) look({ [kind]: text.trim(), step });
      }}
    >
      <fieldset class="why-kinds">
        <legend class="visually-hidden">What went wrong?</legend>
        <Choice name="It said the wrong thing" chosen={kind === "answer"} pick={() => (setKind("answer"), setText(""))} />
        {tools.length > 0 && <Choice name="It used the wrong tool, or none" chosen={kind === "call"} pick={() => (setKind("call"), setText(tools[0] ?? ""))} />}
      </fieldset>
      {kind === "answer" ? (
        <label class="why-field">
          <span class="why-question">What should it have said?</span>
          <input type="text" maxLength={2000} value={text} aria-describedby="why-examples" onInput={(event) => setText(event.currentTarget.value)} />
          <span class="quiet" id="why-examples">
            The part that matters is enough. For example <q>330 m</q>, <q>Ann</q>, or <q>I do not know</q>.
          </span>
        </label>
      ) : (
        <label class="why-field">
          <span class="why-question">Which tool should it have used?</span>
          <select value={text} onChange={(event) => setText(event.currentTarget.value)}>
            {tools.map((tool) => (
              <option key={tool}>{tool}</option>
            ))}
          </select>
        </label>
      )}
      {steps.length > 1 && (
        <label class="why-field">
          <span>Where?</span>
          <select value={String(step)} onChange={(event) => setStep(Number(event.currentTarget.value))}>
            <option value="0">In the end, whatever the way</option>
            {steps.map((one) => (
              <option key={one} value={String(one)}>{`At step ${one}`}</option>
            ))}
          </select>
        </label>
      )}
      <p class="why-row">
        <button type="submit" class="primary" disabled={!text.trim()}>
          Find out why
        </button>
        {leave && (
          <button type="button" onClick={leave}>
            Cancel
          </button>
        )}
      </p>
      <p class="quiet why-cost">{costOf(body)}</p>
    </form>
  );
}

function Choice({ name, chosen, pick }: { name: string; chosen: boolean; pick: () => void }) {
  return (
    <label>
      <input type="radio" name="why-kind" checked={chosen} onChange={pick} />
      <span>{name}</span>
    </label>
  );
}

function Wanted({ found, body, change, look }: { found: Why; body: Run; change: () => void; look: () => void }) {
  const mark = found.marks.at(-1);
  const searched = !!found.judge;
  return (
    <div class="why-wanted">
      <p>
        {mark ? (
          <>
            {mark.step ? `At step ${mark.step} it should have ` : "It should have "}
            {mark.call ? "used " : "said "}
            <strong>
              {mark.call || mark.answer}
              {mark.args ? ` ${JSON.stringify(mark.args)}` : ""}
            </strong>
            .
          </>
        ) : (
          "It ended without an answer. A change with which it ends well is looked for."
        )}{" "}
        <button type="button" class="link" disabled={found.running} onClick={change}>
          {mark ? "Change" : "Say what it should have said"}
        </button>
      </p>
      {!found.running && (!searched || !found.complete) && (
        <p class="why-row">
          <button type="button" class="primary" onClick={look}>
            {searched ? "Look further" : "Find out why"}
          </button>
          <span class="quiet why-cost">{costOf(body)}</span>
        </p>
      )}
    </div>
  );
}

function Progress({ found }: { found: Why }) {
  const helped = found.experiments.filter((one) => one.right > 0 && one.kind !== "nothing").length;
  const last = found.experiments.at(-1);
  return (
    <div class="why-progress">
      <p role="status">
        Trying changes one by one: {plural(found.experiments.length, "experiment")} so far, {helped ? `${helped} help` : "none helps yet"}.
      </p>
      <progress aria-label="Experiments" max={REQUESTS} value={Math.min(REQUESTS - 1, found.experiments.length)} />
      {last && <p class="quiet">Just tried: {last.change}</p>}
    </div>
  );
}

function Found({ run, cause }: { run: string; cause: Cause }) {
  return (
    <li class="cause">
      <p class="cause-change">
        It goes right with <strong>{cause.change}</strong>
      </p>
      {cause.difference && <Lines name="What the model was given, with the change" text={cause.difference} />}
      <p class="quiet">
        Changed at step {cause.step}
        {cause.last_step > cause.step ? ` (after step ${cause.last_step} it is too late)` : ""}: right in {cause.share.replace(/ =.*/, "").replace("/", " of ")}
      </p>
      {cause.patch && (
        <Group name="Apply it to your file">
          <Lines name="The difference to your file" text={cause.patch} />
          <p class="quiet">
            Save it and run <code>git apply why.patch</code>, or <code>treadle runs why {run.slice(0, 8)} --source {/^\+\+\+ b\/(.*)$/m.exec(cause.patch)?.[1]} --apply</code> where the file is.
          </p>
        </Group>
      )}
      <p class="why-row">
        <a class="button" href={`#/compare/${encodeURIComponent(run)}/${encodeURIComponent(cause.run)}`}>
          Both runs
        </a>
        {cause.patch && (
          <>
            <button type="button" onClick={() => void navigator.clipboard.writeText(cause.patch).then(() => say("Copied."))}>
              <Copy size={14} /> Copy the patch
            </button>
            <a class="why-save" download="why.patch" href={URL.createObjectURL(new Blob([cause.patch], { type: "text/plain" }))}>
              Save the patch
            </a>
          </>
        )}
      </p>
    </li>
  );
}

function Experiments({ run, found }: { run: string; found: Why }) {
  const kinds = [...new Set(found.experiments.map((one) => one.kind))];
  return (
    <Group
      name={
        <>
          <Search size={14} /> {plural(found.experiments.length, "experiment")}
          {found.requests ? `, ${plural(found.requests, "model request")}` : ""}
        </>
      }
      open={!found.causes.length}
    >
      <p class="quiet">
        {found.problem}; judged by {found.judge}.
      </p>
      <ul class="experiments" aria-label="Experiments">
        {kinds.map((kind) => {
          const own = found.experiments.filter((one) => one.kind === kind);
          const helped = own.filter((one) => one.right > 0).length;
          return (
            <li key={kind}>
              <Group name={<>{KINDS[kind] ?? kind} <span class="quiet">{helped} of {own.length} help</span></>} open={helped > 0}>
                <ul>
                  {own.map((one) => (
                    <Leaf key={one.runs[0]} run={run} experiment={one} />
                  ))}
                </ul>
              </Group>
            </li>
          );
        })}
      </ul>
    </Group>
  );
}

function Leaf({ run, experiment }: { run: string; experiment: Experiment }) {
  const right = experiment.right > 0;
  return (
    <li class={right ? "right" : "wrong"}>
      <p>
        <span class="verdict">{right ? <Check size={13} /> : null} {right ? "right" : "wrong"}</span> step {experiment.step}: {experiment.change}
        {experiment.trials > 1 && <span class="quiet"> ({experiment.right} of {experiment.trials})</span>}
      </p>
      <p class="quiet">
        {experiment.answer.slice(0, 300) || experiment.why.slice(0, 300)}
        {experiment.unknown.length > 0 && ` (with results nobody knows: ${experiment.unknown.join(", ")})`}{" "}
        <a href={`#/compare/${encodeURIComponent(run)}/${encodeURIComponent(experiment.runs[0] ?? "")}`}>The difference</a>
      </p>
    </li>
  );
}
