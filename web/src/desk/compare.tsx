// Two runs side by side: what they were given, each step beside its counterpart, what came of them.

import { useState } from "preact/hooks";
import { plural, readable, seconds } from "../format";
import { useReading, Waiting } from "../reading";
import { desk, type Step } from "./api";
import { Difference } from "./difference";
import { View } from "./view";

export function Compare({ first, second }: { first: string; second: string }) {
  const reading = useReading(() => desk.compare(first, second), `${first}/${second}`);
  const [everything, setEverything] = useState(false);
  const found = reading.value;
  if (!found) {
    return (
      <View title="Two runs">
        <Waiting reading={reading} what="These runs could not be compared" />
      </View>
    );
  }
  const facts = found.facts.filter((fact) => everything || fact.first !== fact.second);
  const steps = found.steps.filter((pair) => everything || pair.change !== "same");
  const same = found.steps.filter((pair) => pair.change === "same").length;
  return (
    <View title="Two runs" aside={`${found.common > 0 ? `The first ${plural(found.common, "record")} are the same. ` : ""}${plural(same, "step")} the same, ${found.steps.length - same} not.`}>
      <label class="check">
        <input type="checkbox" checked={everything} onChange={(event) => setEverything(event.currentTarget.checked)} /> Also what is the same
      </label>
      <table class="facts">
        <thead>
          <tr>
            <th scope="col">Fact</th>
            <th scope="col">
              <a href={`#/c/${encodeURIComponent(found.first)}`}>{found.first.slice(0, 8)}</a>
            </th>
            <th scope="col">
              <a href={`#/c/${encodeURIComponent(found.second)}`}>{found.second.slice(0, 8)}</a>
            </th>
          </tr>
        </thead>
        <tbody>
          {facts.map((fact) => (
            <tr key={fact.name} class={fact.first === fact.second ? "same" : "changed"}>
              <th scope="row">{fact.name}</th>
              <td>{fact.first || "–"}</td>
              <td>{fact.second || "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <h2>Steps</h2>
      <ol class="pairs">
        {steps.map((pair, place) => (
          <li key={place} class={`pair ${pair.change}`}>
            <Side step={pair.first} />
            <Side step={pair.second} />
            {pair.change === "changed" && pair.first && pair.second && (
              <details>
                <summary>What differs</summary>
                <Difference before={whole(pair.first)} after={whole(pair.second)} />
              </details>
            )}
          </li>
        ))}
      </ol>
      {!steps.length && <p class="quiet">No step differs.</p>}
    </View>
  );
}

const whole = (step: Step) => [readable(step.input), readable(step.output), step.error].filter(Boolean).join("\n");

function Side({ step }: { step: Step | null }) {
  if (!step) return <div class="side none">Not in this run</div>;
  return (
    <div class="side">
      <p>
        <strong>{step.name}</strong> <span class="quiet">record {step.seq}{step.elapsed ? `, ${seconds(step.elapsed)}` : ""}</span>
      </p>
      {step.input && <code>{step.input.slice(0, 300)}</code>}
      <p class={step.error ? "failed" : ""}>{(step.error ? `${step.error}: ` : "") + step.output.slice(0, 600)}</p>
    </div>
  );
}
