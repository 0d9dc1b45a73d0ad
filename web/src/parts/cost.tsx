import { count, money, plural, seconds } from "../format";
import type { Component, Run } from "../types";

export function Cost({ run }: { run: Run }) {
  const rows = Object.entries(run.components).sort(([, a], [, b]) => b.usage.total_tokens - a.usage.total_tokens);
  const most = Math.max(1, ...rows.map(([, component]) => component.usage.total_tokens));
  const priced = run.usage.cost !== null;
  return (
    <div class="cost">
      <dl class="totals">
        <Total name="Tokens" value={count(run.usage.total_tokens)} />
        <Total name="Model calls" value={count(run.usage.requests)} />
        <Total name="Tool calls" value={count(run.usage.tool_calls)} />
        <Total name="Time" value={seconds(run.elapsed)} />
        {priced && <Total name="Cost" value={money(run.usage.cost)} />}
        <Total name="From cache" value={run.usage.input_tokens ? `${Math.round((100 * run.usage.cached_tokens) / run.usage.input_tokens)} %` : "0 %"} />
      </dl>
      <table>
        <thead>
          <tr>
            <th scope="col">Component</th>
            <th scope="col">Calls</th>
            <th scope="col">In</th>
            <th scope="col">Out</th>
            <th scope="col">Time</th>
            {priced && <th scope="col">Cost</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, component]) => (
            <Row key={name} name={name} component={component} most={most} priced={priced} />
          ))}
        </tbody>
      </table>
      {!rows.length && <p class="quiet">No model call has ended yet.</p>}
      {run.breaks.length > 0 && (
        <section>
          <h3>{plural(run.breaks.length, "break")} of the prompt cache</h3>
          <ul>
            {run.breaks.map((why, place) => (
              <li key={place}>{why}</li>
            ))}
          </ul>
        </section>
      )}
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

function Row({ name, component, most, priced }: { name: string; component: Component; most: number; priced: boolean }) {
  const { usage } = component;
  return (
    <tr>
      <th scope="row">
        {name}
        <meter min={0} max={most} value={usage.total_tokens} aria-label={`${name}: ${usage.total_tokens} tokens`} />
      </th>
      <td>{component.calls}</td>
      <td>{count(usage.input_tokens)}</td>
      <td>{count(usage.output_tokens)}</td>
      <td>{seconds(component.elapsed)}</td>
      {priced && <td>{money(usage.cost)}</td>}
    </tr>
  );
}
