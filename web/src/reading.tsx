// What a view reads from the server: under way, there, or failed with a way to try again. Nothing stays empty without a word.

import { useEffect, useState } from "preact/hooks";
import { ApiError } from "./api";
import { store } from "./model";

export interface Reading<T> {
  value: T | null;
  /** What went wrong with the last attempt, in the server's words. */
  failed: string;
  again: () => void;
}

/** What `read` brings. Another `key` is another thing; another `version` is the same one, which may have changed. */
export function useReading<T>(read: () => Promise<T>, key: string, version: unknown = 0, settle = 0): Reading<T> {
  const [now, setNow] = useState<{ key: string; value: T | null; failed: string }>({ key, value: null, failed: "" });
  const [tries, setTries] = useState(0);
  const current = now.key === key;
  useEffect(() => {
    let wanted = true;
    const begin = () =>
      read().then(
        (value) => wanted && setNow({ key, value, failed: "" }),
        (error: Error) => {
          if (!wanted) return;
          if (error instanceof ApiError && error.status === 401) store.set({ door: "token" });
          setNow((before) => ({ key, value: before.key === key ? before.value : null, failed: error.message }));
        },
      );
    const timer = current && now.value !== null && settle ? window.setTimeout(begin, settle) : (void begin(), 0);
    return () => {
      wanted = false;
      window.clearTimeout(timer);
    };
  }, [key, version, tries]);
  const again = () => {
    setNow((before) => ({ ...before, failed: "" }));
    setTries((count) => count + 1);
  };
  return { value: current ? now.value : null, failed: current ? now.failed : "", again };
}

/** In the place of what could not be read: what it is, why, and the next step. */
export function Failed({ what, why, again, name = "Try again" }: { what: string; why: string; again: () => void; name?: string }) {
  return (
    <section class="failure" role="alert">
      <strong>{what}</strong>
      <p>{why}</p>
      <div class="decision">
        <button type="button" class="primary" onClick={again}>
          {name}
        </button>
      </div>
    </section>
  );
}

/** In the place of what is not there yet. */
export function Waiting<T>({ reading, what }: { reading: Reading<T>; what: string }) {
  if (reading.failed) return <Failed what={what} why={reading.failed} again={reading.again} />;
  return <p class="quiet loading">Loading…</p>;
}
