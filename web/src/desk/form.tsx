// A form made from a JSON schema: a field for each property; a list of words has one on each line, what is nested is written as JSON.

import { pretty } from "../format";
import "./form.css";
import type { Json } from "../types";

export interface Field {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: Json[];
  default?: Json;
  anyOf?: Field[];
  items?: Field;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
}

export interface Schema {
  properties?: Record<string, Field>;
  required?: string[];
}

export function kindOf(field: Field): string {
  const kinds = [field, ...(field.anyOf ?? [])];
  const types = kinds.flatMap((one) => one.type ?? []).filter((one) => one !== "null");
  if (types.length !== 1) return "json";
  return types[0] === "array" && kinds.some((one) => one.items?.type === "string" && !one.items.enum) ? "lines" : String(types[0]);
}

/** What was written, as the schema wants it; undefined where nothing was. */
export function valueOf(field: Field, given: string | boolean | undefined): Json | undefined {
  if (field.enum) return given === undefined || given === "" ? undefined : field.enum[Number(given)];
  const kind = kindOf(field);
  if (kind === "boolean") return given === undefined ? undefined : Boolean(given);
  if (given === undefined || given === "") return undefined;
  const text = String(given);
  if (kind === "string") return text;
  if (kind === "integer" || kind === "number") return Number(text);
  if (kind === "lines") return text.split("\n").filter((line) => line.trim());
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new Error(`This is not JSON: ${text.slice(0, 60)}`);
  }
}

/** What was written in a form, as arguments. */
export function argumentsOf(schema: Schema, values: Record<string, string | boolean>): Record<string, Json> {
  const args: Record<string, Json> = {};
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const value = valueOf(field, values[name]);
    if (value !== undefined) args[name] = value;
  }
  return args;
}

const areLines = (value: Json): value is string[] => Array.isArray(value) && value.every((one) => typeof one === "string" && one.trim() && !one.includes("\n"));

/** Arguments as a form shows them: what is nested as JSON, a choice by its place. */
export function shownIn(schema: Schema, args: Record<string, Json>): Record<string, string | boolean> {
  const values: Record<string, string | boolean> = {};
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const value = args[name];
    if (value === undefined) continue;
    if (field.enum) values[name] = String(field.enum.findIndex((one) => JSON.stringify(one) === JSON.stringify(value)));
    else if (kindOf(field) === "lines" && areLines(value)) values[name] = value.join("\n");
    else values[name] = kindOf(field) === "boolean" ? value === true : kindOf(field) === "json" ? JSON.stringify(value, null, 2) : pretty(value);
  }
  return values;
}

/** The schema with a field for each argument that it does not name, or that is not what it says. */
export function covering(schema: Schema | undefined, args: Record<string, Json>): Schema {
  const properties = { ...schema?.properties };
  for (const [name, value] of Object.entries(args)) {
    const type = Number.isInteger(value) ? "integer" : typeof value;
    const plain = type === "string" || type === "integer" || type === "number" || type === "boolean";
    const field = properties[name];
    const fits = field && (field.enum ? field.enum.some((one) => JSON.stringify(one) === JSON.stringify(value)) : kindOf(field) === "json" || (kindOf(field) === "lines" && areLines(value)) || kindOf(field) === type || (kindOf(field) === "number" && type === "integer"));
    if (!fits) properties[name] = { ...(field?.description ? { description: field.description } : {}), ...(plain ? { type } : {}) };
  }
  return { ...schema, properties };
}

interface Props {
  schema: Schema;
  values: Record<string, string | boolean>;
  change: (name: string, value: string | boolean) => void;
}

export function Fields({ schema, values, change }: Props) {
  const fields = Object.entries(schema.properties ?? {});
  if (!fields.length) return <p class="quiet">It takes nothing.</p>;
  return (
    <>
      {fields.map(([name, field]) => (
        <Row key={name} name={name} field={field} needed={schema.required?.includes(name) ?? false} value={values[name]} change={(value) => change(name, value)} />
      ))}
    </>
  );
}

function Row({ name, field, needed, value, change }: { name: string; field: Field; needed: boolean; value: string | boolean | undefined; change: (value: string | boolean) => void }) {
  const kind = kindOf(field);
  const shown = field.default === undefined ? "" : pretty(field.default);
  const text = value === undefined ? "" : String(value);
  const head = (
    <span>
      {field.title ?? name}
      {needed ? " *" : ""} <span class="quiet">{field.description}</span>
    </span>
  );
  if (kind === "boolean") {
    return (
      <label class="check">
        <input type="checkbox" checked={value === undefined ? field.default === true : Boolean(value)} onChange={(event) => change(event.currentTarget.checked)} />
        {head}
      </label>
    );
  }
  return (
    <label>
      {head}
      {field.enum ? (
        <select required={needed} value={text} onChange={(event) => change(event.currentTarget.value)}>
          <option value="">{shown || "–"}</option>
          {field.enum.map((one, place) => (
            <option key={place} value={place}>
              {pretty(one)}
            </option>
          ))}
        </select>
      ) : kind === "integer" || kind === "number" ? (
        <input type="number" required={needed} step={kind === "integer" ? 1 : "any"} min={field.minimum} max={field.maximum} placeholder={shown} value={text} onInput={(event) => change(event.currentTarget.value)} />
      ) : (
        <textarea rows={Math.min(12, Math.max(kind === "string" || kind === "lines" ? 1 : 3, text.split("\n").length))} required={needed} maxLength={field.maxLength} placeholder={kind === "string" ? shown : kind === "lines" ? "One on each line" : shown || "JSON"} value={text} onInput={(event) => change(event.currentTarget.value)} />
      )}
    </label>
  );
}
