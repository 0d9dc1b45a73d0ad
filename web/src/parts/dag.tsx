// The plan as a picture: steps as boxes, what waits for what as lines, drawn again as they go on.

import { useEffect, useState } from "preact/hooks";
import { isExported } from "../embedded";
import { seconds } from "../format";
import { store } from "../model";
import type { PlanStep } from "../items";
import { Lens } from "./icons";

const WIDTH = 190;
const HEIGHT = 62;
const STATES: Record<string, string> = {
  waiting: "waits",
  running: "works",
  completed: "done",
  failed: "failed",
  skipped: "skipped",
  reused: "reused",
};

interface Picture {
  width: number;
  height: number;
  places: Map<string, { x: number; y: number }>;
  lines: { key: string; from: string; path: string }[];
}

export function Dag({ steps, round }: { steps: PlanStep[]; round: number }) {
  const shape = steps.map((step) => `${step.step}<${step.dependencies.join(",")}`).join(";");
  const [picture, setPicture] = useState<Picture | null>(null);
  useEffect(() => {
    let wanted = true;
    void draw(steps).then((drawn) => wanted && setPicture(drawn));
    return () => {
      wanted = false;
    };
  }, [shape]);
  const [chosen, setChosen] = useState("");
  const step = steps.find((one) => one.step === chosen);
  const done = steps.filter((one) => one.state === "completed" || one.state === "reused").length;
  return (
    <section class="dag" aria-label="Plan">
      <header>
        <strong>Plan</strong>
        <span class="quiet">
          {done} of {steps.length} steps done{round > 1 ? `, round ${round}` : ""}
        </span>
      </header>
      <div class="dag-scroll" tabIndex={0} role="group" aria-label="Diagram of the plan">
        {picture && (
          <svg width={picture.width} height={picture.height} viewBox={`0 0 ${picture.width} ${picture.height}`}>
            {picture.lines.map((line) => (
              <path key={line.key} d={line.path} class={`line ${steps.find((one) => one.step === line.from)?.state ?? ""}`} />
            ))}
            {steps.map((one) => (
              <Box key={one.step} step={one} place={picture.places.get(one.step)} chosen={one.step === chosen} choose={() => setChosen(one.step === chosen ? "" : one.step)} />
            ))}
          </svg>
        )}
      </div>
      {step && <Detail step={step} />}
    </section>
  );
}

function Box({ step, place, chosen, choose }: { step: PlanStep; place: { x: number; y: number } | undefined; chosen: boolean; choose: () => void }) {
  if (!place) return null;
  const state = STATES[step.state] ?? step.state;
  return (
    <g
      class={`box ${step.state}${chosen ? " chosen" : ""}`}
      transform={`translate(${place.x - WIDTH / 2} ${place.y - HEIGHT / 2})`}
      role="button"
      tabIndex={0}
      aria-pressed={chosen}
      onClick={choose}
      onKeyDown={(event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          choose();
        }
      }}
    >
      <rect width={WIDTH} height={HEIGHT} rx="10" />
      <circle class="light" cx="16" cy="19" r="4.5" />
      <foreignObject x="28" y="9" width={WIDTH - 40} height="20">
        <div class="box-head">
          <strong>{step.step}</strong>
          <span>
            {step.elapsed ? seconds(step.elapsed) : state}
            {!!step.elapsed && <span class="visually-hidden">, {state}</span>}
          </span>
        </div>
      </foreignObject>
      <foreignObject x="14" y="32" width={WIDTH - 28} height="20">
        <div class="box-task">{step.task}</div>
      </foreignObject>
    </g>
  );
}

function Detail({ step }: { step: PlanStep }) {
  return (
    <div class="dag-detail">
      <p>
        <strong>{step.step}</strong> {step.task}
      </p>
      {step.hint && <p class="quiet">Hint: {step.hint}</p>}
      {(step.error || step.result) && <pre tabIndex={0}>{step.error || step.result}</pre>}
      {step.run && !isExported && (
        <button type="button" class="link" onClick={() => store.set({ inspected: step.run })}>
          <Lens size={14} /> Inspect its run
        </button>
      )}
    </div>
  );
}

async function draw(steps: PlanStep[]): Promise<Picture> {
  const { Graph, layout } = await import("@dagrejs/dagre");
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 16, ranksep: 44, marginx: 6, marginy: 6 });
  graph.setDefaultEdgeLabel(() => ({}));
  const known = new Set(steps.map((step) => step.step));
  for (const step of steps) graph.setNode(step.step, { width: WIDTH, height: HEIGHT });
  for (const step of steps) for (const before of step.dependencies) if (known.has(before)) graph.setEdge(before, step.step);
  layout(graph);
  const places = new Map(steps.map((step) => [step.step, graph.node(step.step) as { x: number; y: number }]));
  const lines = graph.edges().map((edge) => {
    // From the middle of one side to the middle of the other; on the way through the points that go around boxes.
    const [from, to] = [graph.node(edge.v), graph.node(edge.w)] as { x: number; y: number }[];
    const between = (graph.edge(edge) as { points: { x: number; y: number }[] }).points.slice(1, -1);
    const far = between.length > 1 ? between : [];
    const points = [{ x: from!.x + WIDTH / 2, y: from!.y }, ...far, { x: to!.x - WIDTH / 2, y: to!.y }];
    return { key: `${edge.v}>${edge.w}`, from: edge.v, path: curve(points) };
  });
  const size = graph.graph() as { width?: number; height?: number };
  return { width: Math.ceil(size.width ?? WIDTH), height: Math.ceil(size.height ?? HEIGHT), places, lines };
}

function curve(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${first.x} ${first.y}`;
  let before = first;
  for (const point of rest) {
    const middle = (before.x + point.x) / 2;
    path += ` C${middle} ${before.y} ${middle} ${point.y} ${point.x} ${point.y}`;
    before = point;
  }
  return path;
}
