// Keeps this ticket on the phone, says whether it worked, and takes it off again. The page is whole without it.

const box = document.querySelector("[data-keeping]");
const show = (state) => {
  box.querySelectorAll("[data-state]").forEach((part) => { part.hidden = part.dataset.state !== state; });
};

/** The worker's answer to one message. */
function tell(worker, message) {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => resolve(data.kept);
    worker.postMessage(message, [port2]);
  });
}

async function activeWorker() {
  const { worker, scope } = box.dataset;
  await navigator.serviceWorker.register(worker, { scope });
  const registration = await navigator.serviceWorker.getRegistration(scope);
  if (registration.active) return registration.active;
  const coming = registration.installing ?? registration.waiting;
  await new Promise((resolve) => {
    coming.addEventListener("statechange", () => coming.state === "activated" && resolve());
  });
  return registration.active ?? coming;
}

function parts() {
  const loaded = performance.getEntriesByType("resource").map(({ name }) => new URL(name));
  const ours = loaded.filter(({ origin, pathname }) => origin === location.origin && pathname.startsWith("/static/"));
  return [...new Set(ours.map(({ pathname, search }) => pathname + search))];
}

async function keep() {
  show("working");
  const kept = await tell(await activeWorker(), { keep: location.pathname, parts: parts() });
  show(kept ? "kept" : "failed");
}

async function forget() {
  await tell(await activeWorker(), { forget: location.pathname });
  show("forgotten");
}

async function start() {
  if (!("serviceWorker" in navigator) || !box) return;
  box.querySelector("[data-keep]").addEventListener("click", () => keep().catch(() => show("failed")));
  box.querySelector("[data-forget]").addEventListener("click", () => forget().catch(() => show("kept")));
  if (navigator.onLine === false) show("kept"); // opened without a line: it is here
  else await keep();
}

window.addEventListener("load", () => start().catch(() => show("failed")));
