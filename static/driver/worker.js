// Finds codes in one picture at a time, off the page's thread. The server sends this file, and no other,
// with 'wasm-unsafe-eval', so the page itself never may compile anything.
// In:  {id, bitmap} or {id, pixels: ImageData}.   Out: {ready}, {id, texts, took} (ms) or {failed}.
import { prepareZXingModule, readBarcodes } from "../../static/vendor/zxing-wasm/reader/index.js";

const WASM = new URL("../../static/vendor/zxing-wasm/reader/zxing_reader.wasm", self.location.href).href;

// tryHarder keeps faded thermal paper readable. Four symbols: the fiscal code shares the paper with ours.
const OPTIONS = { formats: ["QRCode"], tryHarder: true, maxNumberOfSymbols: 4, textMode: "Plain" };

let canvas = null;

function pixelsOf({ pixels, bitmap }) {
  if (pixels) return pixels;
  if (canvas === null || canvas.width !== bitmap.width || canvas.height !== bitmap.height) {
    canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  }
  const context = canvas.getContext("2d", { willReadFrequently: true, alpha: false });
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  return context.getImageData(0, 0, canvas.width, canvas.height);
}

async function read(message) {
  const began = performance.now();
  const found = await readBarcodes(pixelsOf(message), OPTIONS);
  const texts = found.filter((code) => code.isValid).map((code) => code.text);
  self.postMessage({ id: message.id, texts, took: performance.now() - began });
}

self.addEventListener("message", ({ data }) => {
  read(data).catch(() => self.postMessage({ id: data.id, texts: [], took: 0 }));
});

Promise.resolve(prepareZXingModule({
  overrides: { locateFile: (path, prefix) => (path.endsWith(".wasm") ? WASM : prefix + path) },
  fireImmediately: true,
})).then(
  () => self.postMessage({ ready: true }),
  () => self.postMessage({ failed: true }),
);
