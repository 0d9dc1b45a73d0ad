// Texts whose contrast with what is behind them is under 4.5.
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => { const f = (v) => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const ground = (one) => { for (; one; one = one.parentElement) { const c = rgb(getComputedStyle(one).backgroundColor); if (c[3] > 200) return c; } return rgb("white"); };
  const poor = [];
  for (const one of document.querySelectorAll("p, span, td, th, h1, h2, dt, dd, time, button, code, summary, label")) {
    if (!one.offsetParent || one.closest("[disabled]") || one.classList.contains("visually-hidden")) continue;
    if (![...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
    const a = light(rgb(getComputedStyle(one).color)), b = light(ground(one));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${one.className || one.tagName} ${one.textContent.slice(0, 30)} ${ratio.toFixed(2)}`);
  }
  return poor;
}
