// A hand reader types like a keyboard and ends with Enter. What it types anywhere on the page is a code;
// inside a text field the field's own form takes it.

const GAP_MS = 400; // readers send a key every few ms; after a longer pause a new code begins
const AFTER_MS = 500; // some send a second Enter (CR and LF): it must not press a button
const SHORTEST = 4;

function isTextField(element) {
  return element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement;
}

/** Calls onCode(text) for every line typed outside text fields; a lone key stays what it was. */
export function listenForReader(target, onCode) {
  let typed = "";
  let last = -Infinity;
  let finished = -Infinity;
  const swallow = (event) => {
    event.preventDefault();
    event.stopPropagation();
  };
  target.addEventListener("keydown", (event) => {
    if (isTextField(event.target) || event.ctrlKey || event.altKey || event.metaKey) return;
    const now = performance.now();
    if (now - last > GAP_MS) typed = "";
    if (event.key === "Enter") {
      const code = typed;
      typed = "";
      if (code.length >= SHORTEST) {
        finished = now;
        swallow(event);
        onCode(code);
      } else if (now - finished < AFTER_MS) swallow(event);
    } else if (event.key.length === 1) {
      if (typed || event.key !== " ") typed += event.key;
      last = now;
      if (typed.length > 1) swallow(event); // a space inside a code must not press the focused button
    }
  }, true);
  target.addEventListener("keyup", (event) => {
    if (event.key === " " && typed.length > 1) swallow(event);
  }, true);
}
