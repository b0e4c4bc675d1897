// The hold's clock. Calm until two minutes remain: whole minutes; then minutes and seconds, on amber.
// A screen reader hears it at five, two and one minute and at the end, never in between. The phone's own clock may be
// wrong, so time is counted from the instant that the page was made at.

const clock = document.querySelector("[data-clock]");
const SAID_AT = [300, 120, 60];

function words(seconds) {
  if (seconds > Number(clock.dataset.calm)) return `Reservado por ${Math.ceil(seconds / 60)} min`;
  return `Faltam ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

function start() {
  const left = clock.querySelector("[data-left]");
  const said = document.querySelector("[data-clock-said]");
  const length = (Date.parse(clock.dataset.until) - Date.parse(clock.dataset.now)) / 1000;
  const began = performance.now();
  let before = Math.ceil(length) + 1;
  const show = () => {
    const seconds = Math.max(0, Math.ceil(length - (performance.now() - began) / 1000));
    if (seconds === 0) {
      window.clearInterval(timer);
      left.textContent = "O tempo acabou";
      clock.classList.add("clock--soon");
      said.textContent = "O tempo da reserva acabou.";
      clock.dispatchEvent(new CustomEvent("over", { bubbles: true }));
      return;
    }
    left.textContent = words(seconds);
    clock.classList.toggle("clock--soon", seconds <= Number(clock.dataset.calm));
    const mark = SAID_AT.find((each) => seconds <= each && before > each && before <= length);
    if (mark) said.textContent = `Faltam ${mark / 60} ${mark === 60 ? "minuto" : "minutos"} para terminar a compra.`;
    before = seconds;
  };
  const timer = window.setInterval(show, 1000);
  show();
}

if (clock) start();
