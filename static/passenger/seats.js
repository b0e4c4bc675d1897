// Says how many seats are chosen and what they cost together; the page works without it.

const form = document.querySelector("[data-seats]");
const chosen = document.querySelector("[data-chosen]");
const total = document.querySelector("[data-total]");
const money = new Intl.NumberFormat("pt-BR", { style: "currency", currency: "BRL" });

function show() {
  const seats = [...form.querySelectorAll("input[name=seat]:checked")].map((each) => each.value);
  const cents = Number(form.dataset.fare) * Math.max(1, seats.length);
  const many = seats.length > Number(form.dataset.most);
  chosen.textContent = many ? `até ${form.dataset.most} poltronas`
    : seats.length === 0 ? "por pessoa"
      : seats.length === 1 ? `poltrona ${seats[0]}` : `poltronas ${seats.join(", ")}`;
  total.textContent = money.format(cents / 100);
}

form.addEventListener("change", show);
window.addEventListener("pageshow", show);
