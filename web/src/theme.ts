// Light, dark, or as the system says.

export type Theme = "system" | "light" | "dark";
const ORDER: Theme[] = ["system", "light", "dark"];
const KEY = "treadle-theme";

export function theme(): Theme {
  try {
    const kept = localStorage.getItem(KEY) as Theme | null;
    return kept && ORDER.includes(kept) ? kept : "system";
  } catch {
    return "system";
  }
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme();
}

export function nextTheme(): Theme {
  const next = ORDER[(ORDER.indexOf(theme()) + 1) % ORDER.length] as Theme;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // A browser that keeps nothing still changes for now.
  }
  document.documentElement.dataset.theme = next;
  return next;
}
