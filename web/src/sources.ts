// The passages an answer may cite, read from results of tools: the items of `chunks` in their JSON.

export interface Passage {
  id: number;
  document: string;
  position: number;
  page: number;
  text: string;
}

export function passagesOf(texts: string[]): Map<number, Passage> {
  const found = new Map<number, Passage>();
  for (const text of texts) {
    if (!text.startsWith("{") || !text.includes('"chunks"')) continue;
    let chunks: unknown;
    try {
      // What the engine adds about files stands after the tool's own words.
      chunks = (JSON.parse(text.split("\n[Artifact generated:")[0] as string) as { chunks?: unknown }).chunks;
    } catch {
      continue; // cut for the model
    }
    for (const chunk of Array.isArray(chunks) ? chunks : []) {
      const { id, document = "", position = 0, page = 0, text: words = "" } = chunk as Partial<Passage>;
      if (typeof id === "number" && !found.get(id)?.text) found.set(id, { id, document: String(document), position: Number(position), page: Number(page), text: String(words) });
    }
  }
  return found;
}

export const pageOf = (passage: Passage): string => (passage.page ? `page ${passage.page}` : passage.position ? `passage ${passage.position}` : "");
