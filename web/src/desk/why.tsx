// Why a run went wrong: what was expected of it, and the experiments of the search as a tree beside the run: what was
// changed, what happened, the difference.

import { useEffect, useState } from "preact/hooks";
import { plural } from "../format";
import { useReading, Waiting } from "../reading";
import { desk, type Cause, type Experiment, type Why } from "./api";

const LOOK = 700;
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

export function WhyView({ run, steps }: { run: string; steps: number[] }) {
  const [turn, setTurn] = useState(0);
  const [failed, setFailed] = useState("");
  const reading = useReading(() => desk.why(run), run, turn);
  const found = reading.value;
  useEffect(() => {
    if (!found?.running) return;
    const timer = setTimeout(() => setTurn((now) => now + 1), LOOK);
    return () => clearTimeout(timer);
  }, [found]);
  const send = async (what: Promise<Why>) => {
    setFailed("");
    try {
      await what;
    } catch (error) {
      setFailed(error instanceof Error ? error.message : String(error));
    }
    setTurn((now) => now + 1);
  };
  if (!found) return <Waiting reading={reading} what="This could not be read" />;
  return (
    <div class="why">
      <Expected steps={steps} send={(body) => send(desk.expected(run, body))} />
      {found.marks.map((mark) => (
        <p key={`${mark.step}${mark.call}`} class="quiet">
          {mark.step ? `Expected at step ${mark.step}: ` : "Expected: "}
          <strong>{mark.call ? `a call of ${mark.call}${mark.args ? ` ${JSON.stringify(mark.args)}` : ""}` : mark.answer}</strong>
        </p>
      ))}
      <p>
        <button type="button" disabled={found.running} onClick={() => void send(desk.search(run))}>
          {found.running ? "Searching…" : "Find the cause"}
        </button>
      </p>
      {(failed || found.failed) && <p class="failed" role="alert">{failed || found.failed}</p>}
      {found.judge && (
        <p class="quiet" role="status">
          {found.problem}; judged by {found.judge}. {plural(found.experiments.length, "experiment")}
          {found.running ? " so far" : `, ${plural(found.requests, "model request")}`}
          {!found.running && !found.complete ? "; not finished: search again to go on" : ""}.
        </p>
      )}
      {found.causes.length > 0 && <h3>It goes right</h3>}
      <ol class="causes">
        {found.causes.map((cause) => (
          <Found key={cause.change + cause.step} run={run} cause={cause} />
        ))}
      </ol>
      {found.experiments.length > 0 && <Tree run={run} experiments={found.experiments} />}
    </div>
  );
}

function Expected({ steps, send }: { steps: number[]; send: (body: { answer?: string; call?: string; step: number }) => void }) {
  const [text, setText] = useState("");
  const [what, setWhat] = useState("answer");
  const [step, setStep] = useState(0);
  return (
    <form
      class="expected"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim()) send({ [what]: text.trim(), step });
        setText("");
      }}
    >
      <select aria-label="What is wrong" value={String(step)} onChange={(event) => setStep(Number(event.currentTarget.value))}>
        <option value="0">The answer is wrong</option>
        {steps.map((one) => (
          <option key={one} value={String(one)}>{`Step ${one} is wrong`}</option>
        ))}
      </select>
      <select aria-label="What was expected" value={what} onChange={(event) => setWhat(event.currentTarget.value)}>
        <option value="answer">expected this text</option>
        <option value="call">expected a call of this tool</option>
      </select>
      <input type="text" aria-label="Expected" maxLength={2000} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <button type="submit">Mark as wrong</button>
    </form>
  );
}

function Found({ run, cause }: { run: string; cause: Cause }) {
  return (
    <li>
      <p>
        with <strong>{cause.change}</strong>{" "}
        <span class="quiet">
          at step {cause.step}
          {cause.last_step > cause.step ? `, and at none after step ${cause.last_step}` : ""}; {cause.share}
        </span>{" "}
        <a href={`#/compare/${encodeURIComponent(run)}/${encodeURIComponent(cause.run)}`}>Both runs</a>
      </p>
      {cause.difference && <Patch name="The first request that differs" text={cause.difference} />}
      {cause.patch && <Patch name="A patch for your file" text={cause.patch} />}
    </li>
  );
}

function Patch({ name, text }: { name: string; text: string }) {
  return (
    <details>
      <summary>{name}</summary>
      <pre class="difference" tabIndex={0}>
        {text.split("\n").map((line, place) => (
          <span key={place} class={line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same"}>{`${line}\n`}</span>
        ))}
      </pre>
    </details>
  );
}

function Tree({ run, experiments }: { run: string; experiments: Experiment[] }) {
  const kinds = [...new Set(experiments.map((one) => one.kind))];
  return (
    <>
      <h3>Experiments</h3>
      <ul class="experiments" aria-label="Experiments">
        {kinds.map((kind) => {
          const own = experiments.filter((one) => one.kind === kind);
          return (
            <li key={kind}>
              <details open={own.some((one) => one.right > 0)}>
                <summary>
                  {KINDS[kind] ?? kind} <span class="quiet">{own.filter((one) => one.right > 0).length} of {own.length} help</span>
                </summary>
                <ul>
                  {own.map((one) => (
                    <Leaf key={one.runs[0]} run={run} experiment={one} />
                  ))}
                </ul>
              </details>
            </li>
          );
        })}
      </ul>
    </>
  );
}

function Leaf({ run, experiment }: { run: string; experiment: Experiment }) {
  const right = experiment.right > 0;
  return (
    <li class={right ? "right" : "wrong"}>
      <p>
        <span class="verdict">{right ? "right" : "wrong"}</span> step {experiment.step}: {experiment.change}
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
