// Keeps the tickets that were opened on this phone, with their style and scripts, so that they open without a line.
// No other page is kept. Served at /passes/sw.js, so it sees nothing outside /passes/.
// In:  {keep: path, parts: [paths]} or {forget: path}.   Out, on the port that came with it: {kept: true | false}.

const STORE = "passes-1"; // a new number throws away what earlier ones kept: only when the old pages would break
const TICKET = /^\/passes\/[^/]+\/[^/]+$/;
const NOT_KEPT = `<!doctype html><html lang="pt-BR"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sem internet · Embarque</title><h1>Sem internet</h1>
<p>Este bilhete ainda não foi aberto neste celular. Ligue a internet uma vez e abra de novo.</p></html>`;

self.addEventListener("install", () => self.skipWaiting());

self.addEventListener("activate", (event) => event.waitUntil(dropOldStores().then(() => self.clients.claim())));

async function dropOldStores() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith("passes-") && name !== STORE).map((name) => caches.delete(name)));
}

self.addEventListener("message", ({ data, ports }) => {
  const work = data.keep ? keep(data.keep, data.parts) : forget(data.forget);
  work.then((kept) => ports[0].postMessage({ kept }), () => ports[0].postMessage({ kept: false }));
});

async function keep(page, parts) {
  const store = await caches.open(STORE);
  const answer = await fetch(page, { cache: "no-store", credentials: "same-origin" });
  if (!answer.ok || !TICKET.test(page)) return false;
  await store.addAll(parts.filter((path) => path.startsWith("/static/")));
  await store.put(page, answer);
  return true;
}

async function forget(page) {
  const store = await caches.open(STORE);
  await store.delete(page);
  const left = (await store.keys()).some(({ url }) => TICKET.test(new URL(url).pathname));
  if (!left) await caches.delete(STORE);
  return false;
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== self.location.origin) return;
  if (request.mode === "navigate" && TICKET.test(pathname)) event.respondWith(openTicket(request, pathname));
  else if (pathname.startsWith("/static/")) event.respondWith(openPart(request));
});

/** The line's answer when there is one, so a ticket paid back says so; without a line, what was kept. */
async function openTicket(request, pathname) {
  const store = await caches.open(STORE);
  const kept = await store.match(pathname);
  try {
    const answer = await fetch(request);
    if (kept && answer.ok) await store.put(pathname, answer.clone());
    if (kept && answer.status === 404) await store.delete(pathname);
    return answer;
  } catch {
    return kept ?? new Response(NOT_KEPT, { status: 404, headers: { "Content-Type": "text/html; charset=utf-8" } });
  }
}

/** A part's address changes with its content, so what was kept under it is the same thing. */
async function openPart(request) {
  const kept = await caches.match(request, { cacheName: STORE });
  return kept ?? fetch(request);
}
