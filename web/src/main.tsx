import "./styles/base.css"; // first: it says which layer of styles is above which
import { render } from "preact";
import { App } from "./app";
import { enter, refresh, store, visit } from "./model";
import "./styles/layout.css";
import "./styles/thread.css";
import "./styles/markdown.css";
import "./styles/inspector.css";
import { applyTheme } from "./theme";

const EVERY = 20_000;

applyTheme();
render(<App />, document.getElementById("app") as HTMLElement);
window.addEventListener("hashchange", () => void visit());
window.setInterval(() => {
  if (!document.hidden && store.get().door === "open") void refresh();
}, EVERY);
void enter();
