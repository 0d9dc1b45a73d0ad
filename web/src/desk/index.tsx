// The views beside the conversations. They are a bundle of their own, loaded when one of them is first shown.

import type { Place } from "../places";
import "./desk.css";
import { Agents } from "./agents";
import { Compare } from "./compare";
import { Memory } from "./memory";
import { Runs } from "./runs";

export function Desk({ place }: { place: Place }) {
  if (place.name === "compare") return <Compare first={place.rest[0] ?? ""} second={place.rest[1] ?? ""} />;
  if (place.name === "memory") return <Memory />;
  return place.name === "agents" ? <Agents /> : <Runs />;
}
