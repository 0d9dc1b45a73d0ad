import { store } from "../model";
import { useStore } from "../store";

/** A word about what was just done, for a moment. */
export function Notice() {
  const notice = useStore(store, (now) => now.notice);
  return (
    <div class="notice-place" role="alert">
      {notice && <div class="notice">{notice}</div>}
    </div>
  );
}
