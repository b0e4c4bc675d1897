// The camera and the reader behind it: hands over the texts seen in the middle of the picture, and names
// what is wrong when there is no picture. It knows nothing of passes, answers or the page around it.

const IDEAL = {
  audio: false,
  video: { facingMode: { ideal: "environment" }, width: { ideal: 1280 }, height: { ideal: 720 } },
};
const PAUSE_MS = 60; // between two pictures: a dozen a second is enough and spares the battery
const STUCK_LOOKS = 80; // about five seconds awake without a word: this reader is not coming back

const PROBLEM_BY_ERROR = {
  NotAllowedError: "denied",
  SecurityError: "denied",
  NotFoundError: "missing",
  OverconstrainedError: "missing",
  NotReadableError: "busy",
  AbortError: "busy",
};

/** The name of what keeps a camera from opening on this page, or null: "insecure" or "browser". */
export function obstacle() {
  if (navigator.mediaDevices?.getUserMedia) return null;
  return window.isSecureContext ? "browser" : "insecure";
}

export class Camera {
  /** onTexts(texts, takenAt): what one picture held. onProblem(name): why there is no picture. */
  constructor(video, workerUrl, { onTexts, onProblem, onReady }) {
    Object.assign(this, { video, workerUrl, onTexts, onProblem, onReady });
    this.stream = null;
    this.worker = null;
    this.readerReady = false;
    this.waiting = null;
    this.taken = 0;
    this.starts = 0;
    this.running = false;
  }

  async start() {
    this.stop();
    const reason = obstacle();
    if (reason) return this.fail(reason);
    const turn = (this.starts += 1);
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia(IDEAL);
    } catch (error) {
      return turn === this.starts ? this.fail(PROBLEM_BY_ERROR[error?.name] ?? "missing") : undefined;
    }
    if (turn !== this.starts) return stream.getTracks().forEach((track) => track.stop());
    this.stream = stream;
    const [track] = this.stream.getVideoTracks();
    track.addEventListener("ended", () => this.stream === stream && this.fail("ended"));
    this.video.srcObject = this.stream;
    await this.video.play().catch(() => undefined); // the loop waits for a picture, whoever starts it
    this.running = true;
    this.openReader();
    return undefined;
  }

  stop() {
    this.running = false;
    clearTimeout(this.timer);
    const stream = this.stream;
    this.stream = null;
    stream?.getTracks().forEach((track) => track.stop());
    this.video.srcObject = null;
  }

  fail(problem) {
    this.stop();
    this.onProblem(problem);
  }

  openReader() {
    if (this.readerReady) {
      this.onReady();
      this.next();
    }
    if (this.worker) return;
    try {
      this.worker = new Worker(this.workerUrl, { type: "module" });
    } catch {
      this.fail("reader");
      return;
    }
    this.worker.addEventListener("message", ({ data }) => this.hear(data));
    this.worker.addEventListener("error", () => this.loseReader());
  }

  loseReader() {
    this.worker?.terminate();
    this.worker = null;
    this.readerReady = false;
    this.waiting = null;
    this.fail("reader");
  }

  hear(data) {
    if (data.failed) this.loseReader();
    else if (data.ready) {
      this.readerReady = true;
      if (!this.running) return;
      this.onReady();
      this.next();
    } else if (data.id === this.waiting?.id) {
      const { at } = this.waiting;
      this.waiting = null;
      if (data.texts.length) this.onTexts(data.texts, at);
      this.next();
    }
  }

  next() {
    clearTimeout(this.timer);
    if (this.running) this.timer = setTimeout(() => this.look(), PAUSE_MS);
  }

  async look() {
    if (!this.running) return;
    if (this.waiting && (this.waiting.looks += 1) > STUCK_LOOKS) {
      this.loseReader();
      return;
    }
    if (this.waiting || document.hidden || this.video.readyState < HTMLMediaElement.HAVE_CURRENT_DATA) {
      this.next();
      return;
    }
    this.waiting = { id: (this.taken += 1), at: performance.now(), looks: 0 };
    try {
      const [picture, transfer] = await this.takePicture();
      this.worker?.postMessage({ id: this.taken, ...picture }, transfer);
    } catch {
      this.waiting = null; // the picture went away between two states of the camera: the next one will do
    }
    this.next();
  }

  /** The middle square of the picture at the camera's own scale: shrinking loses small codes. */
  async takePicture() {
    const { videoWidth, videoHeight } = this.video;
    const side = Math.min(videoWidth, videoHeight);
    const [x, y] = [(videoWidth - side) >> 1, (videoHeight - side) >> 1];
    if (typeof OffscreenCanvas === "function") {
      const bitmap = await createImageBitmap(this.video, x, y, side, side);
      return [{ bitmap }, [bitmap]];
    }
    this.canvas ??= document.createElement("canvas");
    if (this.canvas.width !== side) [this.canvas.width, this.canvas.height] = [side, side];
    const context = this.canvas.getContext("2d", { willReadFrequently: true, alpha: false });
    context.drawImage(this.video, x, y, side, side, 0, 0, side, side);
    const pixels = context.getImageData(0, 0, side, side);
    return [{ pixels }, [pixels.data.buffer]];
  }

  /** True when this camera has a lamp the page may switch. */
  get hasTorch() {
    return this.stream?.getVideoTracks()[0]?.getCapabilities?.().torch === true;
  }

  async setTorch(on) {
    await this.stream?.getVideoTracks()[0]?.applyConstraints({ advanced: [{ torch: on }] });
  }
}
