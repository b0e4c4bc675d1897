// The counter's sale form: holds the chosen seat while the rest is filled in, tells the change, shows one way to pay.
// Without it the form still sells: the server claims the seat when the sale is sent.

const form = document.querySelector("[data-sale]");
const filter = document.querySelector("[data-departures]");

/** Cents of what was typed, or null: "1.234,5" and "1234.50" are both read. */
function cents(text) {
  let plain = text.trim().replace(/^R\$/, "").trim();
  if (plain.includes(",")) plain = plain.replaceAll(".", "").replace(",", ".");
  if (!/^\d{1,7}(\.\d{0,2})?$/.test(plain)) return null;
  const [whole, part = ""] = plain.split(".");
  return Number(whole) * 100 + Number(part.padEnd(2, "0"));
}

function reais(amount) {
  return (amount / 100).toLocaleString("pt-BR", { style: "currency", currency: "BRL" });
}

function showChange() {
  const output = form.querySelector("[data-change]");
  if (!output || !form.received) return;
  const received = cents(form.received.value);
  const total = Number(form.dataset.total);
  output.textContent = received === null ? reais(0)
    : received < total ? `faltam ${reais(total - received)}` : reais(received - total);
}

function showMeans() {
  const chosen = form.querySelector("[name=method]:checked");
  for (const part of form.querySelectorAll("[data-when]")) part.hidden = part.dataset.when !== chosen?.value;
}

let asked = 0;

async function hold(radio) {
  const mine = ++asked;
  const body = new FormData();
  for (const name of ["csrf_token", "trip", "board", "alight"]) body.set(name, form.elements[name].value);
  body.set("seat", radio.value);
  body.set("release", form.elements.hold.value);
  const label = radio.closest(".seat");
  try {
    const answer = await fetch(form.dataset.holds, { method: "POST", body, headers: { Accept: "application/json" } });
    const told = await answer.json();
    if (mine !== asked) return;
    form.elements.hold.value = answer.ok ? told.hold : "";
    say(answer.ok ? "" : told.title);
    if (answer.ok) return;
    radio.checked = false;
    radio.disabled = true;
    label?.classList.add("seat--held");
  } catch {
    // no connection: the sale itself claims the seat, so nothing is promised here
    if (mine === asked) form.elements.hold.value = "";
  }
}

function say(sentence) {
  const place = form.querySelector("[data-seat-refused]");
  place.hidden = !sentence;
  place.textContent = sentence;
}

if (form) {
  form.addEventListener("change", (event) => {
    if (event.target.name === "seat") hold(event.target);
    if (event.target.name === "method") showMeans();
  });
  form.addEventListener("input", (event) => event.target.name === "received" && showChange());
  showMeans();
  showChange();
  if (!document.querySelector("[aria-invalid=true]")) (form.querySelector("#f-name") || form.received)?.focus();
}
filter?.addEventListener("change", () => filter.requestSubmit());
