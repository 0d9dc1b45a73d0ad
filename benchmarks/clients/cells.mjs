// What every client program in JavaScript does with its cells: run each, and say what came of it, as a line of JSON.
import { readFileSync } from "node:fs";

export const [ADDRESS, TOKEN] = process.argv.slice(2);
export const PICTURE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
export const PARAMETERS = { type: "object", properties: { where: { type: "string" } }, required: ["where"] };
export const SUM = { type: "object", properties: { total: { type: "integer" } }, required: ["total"], additionalProperties: false };
export const ASK = "2+3?", LOOK = "Look left, please.", LOOK_TWICE = "Look both ways, please.", DATA = "2+3, as data?";
export const SEE = "What is in the picture?", BROKEN = "This is broken.", FLAKY = "Flaky: 2+3?", SLOW = "Slowly: 2+3?";
export const FIVE = "It is 5.", CAT = "I see a cat.", BOTH = "I see a cat and a cat.", SEEN = "I see a picture.";

export function same(said, wanted) {
  if (JSON.stringify(said) !== JSON.stringify(wanted)) throw new Error(`${JSON.stringify(said)} instead of ${JSON.stringify(wanted)}`);
}

export async function refused(asking) {
  try {
    await asking;
  } catch (error) {
    if (!String(error.message).includes("cannot be done")) throw new Error(`no reason in: ${error.message}`);
    return;
  }
  throw new Error("no error");
}

export async function cells(client, packages, functions) {
  const version = (name) => JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;
  const versions = packages.map((name) => `${name} ${version(name)}`).join(" ");
  for (const [cell, run] of Object.entries(functions)) {
    let said = "yes";
    try {
      await run();
    } catch (error) {
      said = `${error.name}: ${error.message}`.slice(0, 600);
    }
    console.log(JSON.stringify([client, versions, cell, said]));
  }
}
