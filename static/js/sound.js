// One short tone for each state. In a file of its own: a page's module imports this one, never enhance.js, which must run once.

const TONES = { ok: [880, 0.08], attention: [520, 0.2], stop: [220, 0.35], info: [520, 0.1] };

/** A short tone: "ok", "attention" or "stop". Silent where the browser has had no touch or key yet. */
export function beep(kind) {
  const Context = window.AudioContext || window.webkitAudioContext;
  if (!Context) return;
  const [frequency, seconds] = TONES[kind] || TONES.attention;
  const context = new Context();
  const [tone, volume] = [context.createOscillator(), context.createGain()];
  tone.type = kind === "stop" ? "square" : "sine";
  tone.frequency.value = frequency;
  volume.gain.value = 0.12;
  tone.connect(volume).connect(context.destination);
  tone.onended = () => context.close();
  tone.start();
  tone.stop(context.currentTime + seconds);
}
