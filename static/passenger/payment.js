// Waits for the money: asks every few seconds where the purchase stands, and goes on when that changes. Copies the code.

import { offerCopy } from "./copy.js";

const EVERY = 4000;
const waiting = document.querySelector("[data-waiting]");

async function ask() {
  if (!document.hidden && navigator.onLine) {
    try {
      const answer = await fetch(waiting.dataset.waiting, { headers: { Accept: "application/json" } });
      if (answer.ok && (await answer.json()).state !== "open") {
        window.location.reload();
        return;
      }
    } catch {
      // no connection: the next turn asks again
    }
  }
  window.setTimeout(ask, EVERY);
}

if (waiting) window.setTimeout(ask, EVERY);
offerCopy();
document.addEventListener("over", () => window.location.reload());
