// Sends what happened at the door until the server has answered, always under the id it was given first,
// so an answer lost on the way is asked for again and nothing counts twice. Lives in memory alone.

const PATIENCE_MS = 8000; // then the try is given up and repeated
const SLOW_MS = 2000; // unanswered for so long, it is shown as not sent
const WAITS_MS = [500, 1000, 2000, 4000, 8000, 15000];
const RENEWAL_MS = 60000;
const TRY_AGAIN = new Set([408, 425, 429]);

export class Sender {
  /** onChange({state, unsent}): state is "fresh", "lost" (no connection) or "signed_out". */
  constructor(token, pageUrl, onChange) {
    Object.assign(this, { token, pageUrl, onChange });
    this.items = new Set();
    this.renewedAt = -Infinity;
    this.state = navigator.onLine === false ? "lost" : "fresh";
    window.addEventListener("online", () => this.hurry());
    window.addEventListener("offline", () => this.turn("lost"));
  }

  get unsent() {
    return [...this.items].filter((item) => item.late).length;
  }

  get waiting() {
    return this.items.size;
  }

  tell() {
    this.onChange({ state: this.state, unsent: this.unsent });
  }

  turn(state) {
    this.state = state;
    this.tell();
  }

  hurry() {
    this.items.forEach((item) => item.wake?.());
  }

  /** {answer} as the server gave it, or {problem} when it refuses to take this; settles however long it takes. */
  async send(url, body) {
    const item = { late: false, wake: null };
    const text = JSON.stringify(body);
    this.items.add(item);
    const slow = setTimeout(() => this.delay(item), SLOW_MS);
    for (let tries = 0; ; tries += 1) {
      const outcome = await this.attempt(url, text);
      if (outcome.answer || outcome.problem) {
        clearTimeout(slow);
        this.items.delete(item);
        this.turn("fresh");
        this.hurry();
        return outcome;
      }
      this.delay(item);
      this.turn(outcome.state);
      await this.rest(item, WAITS_MS[Math.min(tries, WAITS_MS.length - 1)]);
    }
  }

  delay(item) {
    item.late = true;
    this.tell();
  }

  rest(item, wait) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, wait * (0.75 + Math.random() / 2));
      item.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    }).finally(() => {
      item.wake = null;
    });
  }

  async attempt(url, text) {
    const used = this.token;
    let response;
    try {
      response = await this.request(url, {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "application/json", "X-CSRFToken": used },
        body: text,
      });
    } catch {
      return { state: "lost" };
    }
    if (response.status >= 500 || TRY_AGAIN.has(response.status)) return { state: "lost" };
    if (response.status === 401 || response.type === "opaqueredirect") return { state: "signed_out" };
    if (response.status === 400 || response.status === 403) {
      const renewal = await this.renewToken(used);
      if (renewal === "renewed") return this.attempt(url, text);
      if (renewal === "signed_out") return { state: "signed_out" };
    }
    return this.reading(response);
  }

  reading({ ok, text }) {
    let found;
    try {
      found = JSON.parse(text);
    } catch {
      return { state: "lost" }; // somebody else answered in the server's place: a station's wireless page
    }
    if (!ok) return { problem: { title: found.title, detail: found.detail, code: found.code } };
    return typeof found?.result === "string" ? { answer: found } : { state: "lost" };
  }

  /** A page left open for hours holds a token that has run out; a fresh copy of the page has another. */
  async renewToken(used) {
    let copy;
    try {
      copy = await this.request(this.pageUrl, { headers: { Accept: "text/html" } });
    } catch {
      return "same";
    }
    if (copy.type === "opaqueredirect" || copy.status === 401) return "signed_out";
    const token = new DOMParser().parseFromString(copy.text, "text/html").querySelector("[data-csrf]")?.dataset.csrf;
    // every copy masks its token anew, so another text alone proves nothing: one renewal a minute is believed
    if (!token || token === used || Date.now() - this.renewedAt < RENEWAL_MS) return "same";
    this.renewedAt = Date.now();
    this.token = token;
    return "renewed";
  }

  async request(url, options) {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), PATIENCE_MS);
    try {
      const response = await fetch(url, {
        ...options, signal: controller.signal, credentials: "same-origin", redirect: "manual", cache: "no-store",
      });
      const { status, ok, type } = response;
      return { status, ok, type, text: await response.text() };
    } finally {
      clearTimeout(timer);
    }
  }
}
