// Everything that is to be exported is read first, a few runs at a time.

import type { Format } from "./export";
import { attempt, current, known, store, watch } from "./model";

/** The branch that is shown as a file; what has not been looked at yet is read first. */
export const exportAs = (title: string, format: Format) =>
  attempt(async () => {
    const { turns, conversation } = store.get();
    const unread = format === "html" ? [] : turns.filter((one) => !one.view.done && one.run !== current(store.get())?.run).map((one) => one.run);
    for (let at = 0; at < unread.length; at += AT_ONCE) {
      const some = unread.slice(at, at + AT_ONCE);
      some.forEach(watch);
      await until(() => some.every((run) => known.get(run)?.view.done || known.get(run)?.connection === "closed"));
    }
    const { save } = await import("./export");
    await save(conversation, title, store.get().turns.map((one) => known.get(one.run) ?? one), format);
  });

const AT_ONCE = 20;

const until = (ready: () => boolean): Promise<void> =>
  new Promise((go) => {
    if (ready()) return go();
    const stop = store.subscribe(() => {
      if (!ready()) return;
      stop();
      go();
    });
  });
