// What the ear and the hand get: one tone and one vibration per kind of answer, told apart without looking.

// [frequency in Hz, begins at (s), lasts (s), wave]
const TONES = {
  ok: [[880, 0, 0.09, "sine"], [1319, 0.1, 0.16, "sine"]],
  attention: [[740, 0, 0.1, "triangle"], [740, 0.17, 0.1, "triangle"], [740, 0.34, 0.14, "triangle"]],
  stop: [[196, 0, 0.28, "square"], [147, 0.32, 0.42, "square"]],
  info: [[523, 0, 0.12, "sine"]],
};
const BUZZ = { ok: [70], attention: [70, 70, 70, 70, 70], stop: [320, 120, 320], info: [35] };
const LOUDNESS = 0.5;

export class Signals {
  constructor() {
    this.context = null;
  }

  /** Browsers keep a page silent until someone touches it: true once sound may be heard. */
  async wake() {
    const Context = window.AudioContext ?? window.webkitAudioContext;
    if (!Context) return false;
    this.context ??= new Context();
    if (this.context.state !== "running") {
      // resume() may never settle where there was no touch yet, so nobody waits for it for long
      await Promise.race([this.context.resume(), new Promise((done) => setTimeout(done, 300))]).catch(() => undefined);
    }
    return this.context.state === "running";
  }

  give(tone) {
    navigator.vibrate?.(BUZZ[tone] ?? BUZZ.info);
    if (this.context?.state !== "running") return;
    for (const [hertz, begins, lasts, wave] of TONES[tone] ?? TONES.info) this.play(hertz, begins, lasts, wave);
  }

  play(hertz, begins, lasts, wave) {
    const at = this.context.currentTime + begins;
    const source = this.context.createOscillator();
    const volume = this.context.createGain();
    source.type = wave;
    source.frequency.value = hertz;
    volume.gain.setValueAtTime(0, at);
    volume.gain.linearRampToValueAtTime(wave === "square" ? LOUDNESS / 2 : LOUDNESS, at + 0.01);
    volume.gain.setValueAtTime(wave === "square" ? LOUDNESS / 2 : LOUDNESS, at + lasts - 0.02);
    volume.gain.linearRampToValueAtTime(0, at + lasts);
    source.connect(volume).connect(this.context.destination);
    source.start(at);
    source.stop(at + lasts);
  }
}
