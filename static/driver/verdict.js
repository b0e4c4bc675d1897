// The one big answer: what it says, the question that may come with it, and the list of what still waits
// for the driver. Everything is written as text, never as markup: names and codes come from strangers.

const FORGET_MS = { ok: 15000, info: 15000, attention: 45000, stop: 45000 };
const LONG_NAME = 32; // letters; the document's digits must stay in sight below it

const part = (root, name) => root.querySelector(`[data-part="${name}"]`);

function write(element, text) {
  element.textContent = text ?? "";
  element.hidden = !text;
}

/** Whether the driver still has to answer for this passenger. */
export function asks(answer) {
  return answer.tone !== "stop" && (answer.checks?.length ?? 0) > 0;
}

/** The kind of sound, colour and symbol: an open question is never green. */
export function toneOf(answer) {
  return asks(answer) && answer.tone === "ok" ? "attention" : answer.tone;
}

export class Verdict {
  /** onAnswer(scan, {outcome, reason}) when the question is answered; onLeave() when the panel goes. */
  constructor(root, { onAnswer, onLeave }) {
    Object.assign(this, { root, onAnswer, onLeave });
    this.shown = null;
    this.question = part(root, "question");
    this.reasons = part(root, "reasons");
    part(root, "confirm").addEventListener("click", () => this.answer("confirmed"));
    part(root, "refuse").addEventListener("click", () => this.askReason(true));
    part(root, "back").addEventListener("click", () => this.askReason(false));
    part(root, "next").addEventListener("click", () => this.leave());
    this.reasons.querySelectorAll("[data-reason]").forEach((button) => {
      button.addEventListener("click", () => this.answer("refused", button.dataset.reason));
    });
  }

  /** scan: {id, answer}. Takes the whole stage until the next code. */
  show(scan) {
    const { answer } = scan;
    const asking = asks(answer);
    this.open(scan, toneOf(answer), asking && answer.tone === "ok" ? this.root.dataset.askWord : answer.word);
    this.root.dataset.result = answer.result;
    write(part(this.root, "seat-number"), answer.seat);
    part(this.root, "seat").hidden = !answer.seat;
    this.writePassenger(answer);
    this.writeSteps(answer.do ?? []);
    write(part(this.root, "detail"), answer.detail);
    this.question.hidden = !asking;
    this.root.classList.toggle("is-asking", asking);
    this.askReason(false);
    part(this.root, "next").hidden = asking;
    if (!asking) this.forgetLater(FORGET_MS[answer.tone] ?? FORGET_MS.stop);
  }

  /** A word and a sentence without an answer behind them: waiting, or a refusal to take the scan. */
  say(scan, tone, word, detail) {
    this.open(scan, tone, word);
    delete this.root.dataset.result;
    for (const name of ["seat", "passenger", "steps", "question"]) part(this.root, name).hidden = true;
    write(part(this.root, "detail"), detail);
    part(this.root, "next").hidden = tone === "waiting";
  }

  open(scan, tone, word) {
    clearTimeout(this.timer);
    this.shown = scan;
    this.root.dataset.tone = tone;
    this.root.className = `verdict verdict--${tone}`;
    write(part(this.root, "word"), word);
    this.root.hidden = false;
    this.root.scrollTop = 0;
  }

  writePassenger({ passenger, do: steps = [] }) {
    const box = part(this.root, "passenger");
    box.hidden = !passenger;
    if (!passenger) return;
    const name = part(this.root, "name");
    write(name, passenger.name);
    name.classList.toggle("is-long", (passenger.name ?? "").length > LONG_NAME);
    const told = steps.some((step) => passenger.last4 && step.includes(passenger.last4));
    write(part(this.root, "document"), passenger.last4 && !told ? `${passenger.document} final ${passenger.last4}` : "");
  }

  writeSteps(steps) {
    const list = part(this.root, "steps");
    list.replaceChildren(...steps.map((step) => {
      const row = document.createElement("li");
      row.textContent = step;
      return row;
    }));
    list.hidden = steps.length === 0;
  }

  askReason(asked) {
    this.reasons.hidden = !asked;
    part(this.root, "choice").hidden = asked;
    this.root.classList.toggle("is-refusing", asked);
  }

  answer(outcome, reason) {
    const scan = this.shown;
    if (scan) this.onAnswer(scan, reason ? { outcome, reason } : { outcome });
  }

  forgetLater(after) {
    this.timer = setTimeout(() => this.leave(), after);
  }

  leave() {
    clearTimeout(this.timer);
    this.shown = null;
    this.root.hidden = true;
    this.onLeave();
  }

  /** For ears that read the screen: only where the driver is not typing. */
  focus() {
    if (!(document.activeElement instanceof HTMLInputElement)) this.root.focus({ preventScroll: true });
  }
}

/** What still waits for the driver: questions passed over, and answers that came after the next scan. */
export class OpenList {
  constructor(list, onOpen) {
    Object.assign(this, { list, onOpen });
    this.rows = new Map();
  }

  put(scan, word) {
    this.drop(scan);
    const row = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "btn";
    button.dataset.tone = toneOf(scan.answer);
    button.textContent = scan.answer.seat ? `Poltrona ${scan.answer.seat}: ${word}` : word;
    button.addEventListener("click", () => this.onOpen(scan));
    row.append(button);
    this.list.append(row);
    this.list.hidden = false;
    this.rows.set(scan.id, row);
  }

  drop(scan) {
    this.rows.get(scan.id)?.remove();
    this.rows.delete(scan.id);
    this.list.hidden = this.rows.size === 0;
  }
}
