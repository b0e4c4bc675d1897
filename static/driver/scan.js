// The scan page: from a code seen, typed or sent by a hand reader to one big answer. A new code is always
// taken, whatever the last one is waiting for.

import { Camera } from "./camera.js";
import { Sender } from "./sender.js";
import { Signals } from "./signals.js";
import { toggleBy } from "./theme.js";
import { asks, OpenList, toneOf, Verdict } from "./verdict.js";
import { listenForReader } from "./wedge.js";

const SAME_CODE_MS = 3000; // since it was last seen: a pass held still is one scan
const HELD_MS = 1500; // back after another pass and held still: meant, though it was in sight just now
const WAITING_MS = 250; // quicker answers come without a word in between
const NO_ANSWER_MS = 3000;
const LONGEST_TEXT = 512; // our pass has 154; a stranger's code is named, not kept
const PASS_START = "BP1:";

const root = document.getElementById("scan");
const find = (name) => root.querySelector(`[data-part="${name}"]`);
const show = (name, visible) => { find(name).hidden = !visible; };

const seen = new Map(); // text -> when it was last in sight
const busy = new Map(); // text -> the scan that is being asked, or has an open question
let held = { text: null, since: 0 }; // what is before the lens, and since when without a break
let taken = null; // the text of the newest scan
let latest = null;
let lock = null;

const signals = new Signals();
const sender = new Sender(root.dataset.csrf, window.location.pathname, tellConnection);
const verdict = new Verdict(find("verdict"), { onAnswer: answerQuestion, onLeave: () => setStage("ready") });
const openList = new OpenList(find("open"), reopen);
const camera = new Camera(find("video"), root.dataset.workerUrl, {
  onTexts: (texts, at) => take("scan", texts.find((text) => text.startsWith(PASS_START)) ?? texts[0], at),
  onProblem: tellProblem,
  onReady: () => {
    root.dataset.camera = "on";
    show("torch", camera.hasTorch);
    keepAwake();
  },
});

function setStage(stage) {
  root.dataset.stage = stage;
}

function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // without https there is no randomUUID
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** One sighting of a code, at `at` on the page's clock (ms). */
function take(kind, text, at = performance.now()) {
  const before = seen.get(text);
  seen.set(text, at);
  if (held.text !== text) held = { text, since: at };
  const again = before !== undefined && at - before < SAME_CODE_MS;
  if (again && (taken === text || at - held.since < HELD_MS)) return;
  for (const [old, when] of seen) if (at - when > SAME_CODE_MS) seen.delete(old);
  taken = text;
  setAside();
  const known = busy.get(text);
  if (known) reopen(known);
  else ask({ id: newId(), kind, text: text.slice(0, LONGEST_TEXT).replaceAll("\0", "\ufffd"), at }); // no NUL gets in
}

/** A question passed over stays in reach. */
function setAside() {
  const { shown } = verdict;
  if (shown?.answer && asks(shown.answer)) openList.put(shown, "falta conferir");
}

async function ask(scan) {
  latest = scan;
  busy.set(scan.text, scan);
  const waiting = setTimeout(() => sayWaiting(scan), WAITING_MS);
  const outcome = await sender.send(root.dataset.scanUrl, {
    id: scan.id, kind: scan.kind, text: scan.text, stop_seq: Number(find("stop").value), at: new Date().toISOString(),
  });
  clearTimeout(waiting);
  clearTimeout(scan.timer);
  settle(scan, outcome);
}

function sayWaiting(scan) {
  if (latest !== scan) return;
  setStage("verdict");
  verdict.say(scan, "waiting", root.dataset.waitingWord, "");
  scan.timer = setTimeout(() => {
    if (latest === scan) verdict.say(scan, "waiting", root.dataset.noAnswerWord, root.dataset.noAnswerText);
  }, NO_ANSWER_MS);
}

function settle(scan, { answer, problem }) {
  scan.answer = answer ?? asAnswer(problem);
  if (scan.answer.count) tellCount(scan.answer.count);
  if (asks(scan.answer)) busy.set(scan.text, scan);
  else busy.delete(scan.text);
  if (latest === scan) present(scan);
  else if (asks(scan.answer)) openList.put(scan, "falta conferir");
  else if (scan.answer.tone === "stop" || scan.answer.tone === "attention") openList.put(scan, scan.answer.word);
}

/** The server took nothing: said as a stop, with its own sentence. */
function asAnswer(problem) {
  const detail = [problem.title, problem.detail].filter(Boolean).join(" ");
  return { result: "NOT_RECORDED", tone: "stop", word: root.dataset.notRecordedWord, detail, checks: [], do: [] };
}

function present(scan) {
  setStage("verdict");
  verdict.show(scan);
  verdict.focus();
  signals.give(toneOf(scan.answer));
  requestAnimationFrame(() => {
    performance.clearMeasures("scan-to-verdict");
    performance.measure("scan-to-verdict", { start: scan.at, end: performance.now() });
  });
}

function reopen(scan) {
  setAside();
  openList.drop(scan);
  latest = scan;
  if (!scan.answer) {
    sayWaiting(scan);
    return;
  }
  setStage("verdict");
  verdict.show(scan);
  verdict.focus();
}

async function answerQuestion(scan, given) {
  openList.drop(scan);
  verdict.say(scan, "waiting", root.dataset.waitingWord, "");
  verdict.focus();
  const asked = scan.answer;
  scan.answer = null; // no longer an open question, whatever is scanned meanwhile
  scan.at = performance.now();
  const url = root.dataset.answerUrl.replace("SCAN", encodeURIComponent(scan.id));
  const outcome = await sender.send(url, given);
  if (outcome.answer) outcome.answer = { ...asked, ...outcome.answer, checks: [] };
  settle(scan, outcome);
}

function tellCount({ aboard, capacity }) {
  find("aboard").textContent = aboard;
  find("capacity").textContent = capacity;
}

function tellConnection({ state, unsent }) {
  root.dataset.link = state;
  show("fresh", state === "fresh");
  show("lost", state === "lost");
  show("signed-out", state === "signed_out");
  find("unsent").textContent = unsent === 1 ? "1 por enviar" : `${unsent} por enviar`;
  show("unsent", unsent > 0);
}

function tellProblem(name) {
  root.dataset.camera = name;
  show("torch", false);
  root.querySelectorAll("[data-problem]").forEach((text) => { text.hidden = text.dataset.problem !== name; });
}

function startCamera() {
  root.dataset.camera = "starting";
  camera.start();
}

async function keepAwake() {
  if (document.hidden || !navigator.wakeLock || (lock && !lock.released)) return;
  lock = await navigator.wakeLock.request("screen").catch(() => null); // a flat battery may refuse
}

async function wakeSound() {
  const audible = await signals.wake();
  show("silent", !audible);
  if (audible) ["pointerdown", "keydown"].forEach((name) => document.removeEventListener(name, wakeSound, true));
}

find("code-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const field = find("code");
  const text = field.value.trim();
  if (!text) {
    field.focus();
    return;
  }
  field.value = "";
  field.blur(); // the keyboard of a phone would lie over the answer
  takeTyped(text);
});

function takeTyped(text) {
  const isPass = text.startsWith(PASS_START);
  take(isPass ? "scan" : "code", isPass ? text : text.trim().toUpperCase());
}

toggleBy(find("theme"));
find("retry").addEventListener("click", startCamera);
find("torch").addEventListener("click", async (event) => {
  const button = event.currentTarget;
  const on = button.getAttribute("aria-pressed") !== "true";
  await camera.setTorch(on).then(() => button.setAttribute("aria-pressed", String(on))).catch(() => show("torch", false));
});
find("stop").addEventListener("change", (event) => event.currentTarget.blur()); // or a hand reader would turn it
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  keepAwake();
  if (root.dataset.camera === "ended") startCamera();
});
window.addEventListener("beforeunload", (event) => {
  if (sender.waiting > 0) event.preventDefault();
});
["pointerdown", "keydown"].forEach((name) => document.addEventListener(name, wakeSound, true));

listenForReader(document, takeTyped);
sender.tell();
setStage("ready");
wakeSound();
startCamera();
