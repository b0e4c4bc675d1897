// What every page may use; each page works without it. No inline code, so it runs under script-src 'self'.
//   form                       a second submit of the same form is dropped until the page answers
//   form[data-enter="next"]    Enter goes to the next field; only on the last one, or on a button, it submits
//   [data-key="F2"]            the key presses the button, link or label; with data-focus="#id" it moves the focus there
//   [data-echo="seat"]         shows the words of the chosen radio named "seat"
//   [data-theme-choice]        "", "night" or "glare", kept in a cookie for a year
//   [data-print]               prints the page
//   [data-no-line], [data-when-online], [data-when-offline]   follow the connection
//   body[data-sound]           a short low sound when the page comes back with an error

import { beep } from "./sound.js";

const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const FOCUSABLE = "input:not([type=hidden], :disabled), select:not(:disabled), textarea:not(:disabled), button:not(:disabled)";

function isShown(element) {
  return element.getClientRects().length > 0;
}

function moveFocus(selector) {
  const target = document.querySelector(selector);
  if (!target) return;
  const inside = target.matches(FOCUSABLE) ? target
    : target.querySelector("[aria-current], input:checked") || target.querySelector(`${FOCUSABLE}, a[href]`);
  (inside || target).focus();
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  if (!/^F\d{1,2}$|^Escape$/.test(event.key)) return;
  const name = event.key === "Escape" ? "Esc" : event.key;
  const button = $$(`[data-key="${name}"]`).find((each) => !each.disabled && isShown(each));
  if (!button || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  if (!event.repeat) button.click();
}

function onEnter(event) {
  const from = event.target;
  if (event.key !== "Enter" || event.isComposing || !from.matches("input, select") || from.type === "submit") return;
  const form = from.closest('form[data-enter="next"]');
  if (!form) return;
  const fields = $$(FOCUSABLE, form).filter((each) => isShown(each) && (each.type !== "radio" || each.checked || each === from));
  const next = fields[fields.indexOf(from) + 1];
  if (!next) return;
  event.preventDefault();
  next.focus();
  if (next.select) next.select();
}

function onSubmit(event) {
  const form = event.target;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  // after the other listeners: one of them may have stopped the submit
  queueMicrotask(() => {
    if (event.defaultPrevented) return;
    form.dataset.sent = "1";
    form.setAttribute("aria-busy", "true");
    if (event.submitter) event.submitter.setAttribute("aria-disabled", "true");
  });
}

function onReturn() {
  for (const form of $$("form[data-sent]")) {
    delete form.dataset.sent;
    form.removeAttribute("aria-busy");
    for (const button of $$('[aria-disabled="true"]', form)) button.removeAttribute("aria-disabled");
  }
}

function echo(input) {
  for (const place of $$(`[data-echo="${input.name}"]`)) place.textContent = input.dataset.words || input.value;
}

function showLine() {
  for (const each of $$("[data-no-line], [data-when-offline]")) each.hidden = navigator.onLine;
  for (const each of $$("[data-when-online]")) each.hidden = !navigator.onLine;
}

function showTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  for (const each of $$("[data-theme-choice]")) each.setAttribute("aria-pressed", String(each.dataset.themeChoice === theme));
}

function onClick(event) {
  const button = event.target.closest("[data-focus], [data-theme-choice], [data-print]");
  if (!button) return;
  if (button.dataset.focus) moveFocus(button.dataset.focus);
  if ("print" in button.dataset) window.print();
  if (button.dataset.themeChoice === undefined) return;
  document.cookie = `theme=${button.dataset.themeChoice}; path=/; max-age=31536000; samesite=lax`;
  showTheme(button.dataset.themeChoice);
}

function greet() {
  const wrong = document.querySelector("[aria-invalid=true], .field--wrong input, [data-errors]");
  const verdict = document.querySelector("[data-verdict]");
  if (wrong || verdict) (verdict || wrong).focus({ preventScroll: Boolean(verdict) });
  const failed = wrong || document.querySelector("main .notice--stop");
  if (!document.body.hasAttribute("data-sound")) return;
  if (verdict) beep(verdict.dataset.verdict);
  else if (failed) beep("stop");
}

const chosen = document.cookie.match(/(?:^|; )theme=(night|glare)/);
showTheme(document.documentElement.dataset.theme || (chosen ? chosen[1] : ""));
showLine();
greet();
for (const each of $$("input[type=radio]:checked")) echo(each);
document.addEventListener("keydown", onKey);
document.addEventListener("keydown", onEnter);
document.addEventListener("submit", onSubmit);
document.addEventListener("click", onClick);
document.addEventListener("change", (event) => event.target.matches("input[type=radio]") && echo(event.target));
window.addEventListener("pageshow", onReturn);
window.addEventListener("online", showLine);
window.addEventListener("offline", showLine);
