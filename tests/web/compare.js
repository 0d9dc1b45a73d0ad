// Both pictures (PNG, base64) pixel by pixel. Without `kept`, `taken` comes back in few
// colours: those used most, each some way from the others.
async ([taken, kept, sensitivity]) => {
  const pixels = async (png) => {
    const bytes = Uint8Array.from(atob(png), (one) => one.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes]), { colorSpaceConversion: "none" });
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    context.drawImage(bitmap, 0, 0);
    return context.getImageData(0, 0, bitmap.width, bitmap.height);
  };
  const base64 = (bytes) => {
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return btoa(text);
  };
  const now = await pixels(taken);
  if (kept) {
    const before = await pixels(kept);
    if (before.width !== now.width || before.height !== now.height) return { share: 1 };
    const shown = new ImageData(now.width, now.height);
    const many = pixelmatch(before.data, now.data, shown.data, now.width, now.height, { threshold: sensitivity });
    const canvas = new OffscreenCanvas(now.width, now.height);
    canvas.getContext("2d").putImageData(shown, 0, 0);
    const difference = many ? base64(new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())) : "";
    return { share: many / (now.width * now.height), difference };
  }
  const colours = new Uint32Array(now.data.buffer), counts = new Map();
  for (const one of colours) counts.set(one, (counts.get(one) ?? 0) + 1);
  const ranked = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([one]) => one);
  const parts = (one) => [one & 255, (one >> 8) & 255, (one >> 16) & 255];
  let palette, places, apart = 8;
  do {
    palette = [];
    places = new Map();
    for (const one of ranked) {
      const [red, green, blue] = parts(one);
      let best = -1, least = apart ** 2;
      palette.forEach(([r, g, b], place) => {
        const far = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
        if (far < least) [best, least] = [place, far];
      });
      places.set(one, best < 0 ? palette.push([red, green, blue]) - 1 : best);
    }
    apart *= 1.3;
  } while (palette.length > 256);
  const indices = Uint8Array.from(colours, (one) => places.get(one));
  return { width: now.width, height: now.height, palette: palette.flat(), indices: base64(indices) };
}
