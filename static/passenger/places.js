// Town names while typing, accents optional: the browser's own list finds only what is written the same way.
// The combobox pattern of WAI-ARIA: arrows move, Enter chooses, Escape closes. Without it the datalist is there.

const MOST = 8;
const fold = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const places = [...document.querySelectorAll("#places option")].map((each) => ({ text: each.value, key: fold(each.value) }));

function matching(typed) {
  const key = fold(typed.trim());
  if (!key) return [];
  const begins = places.filter((place) => place.key.startsWith(key));
  const within = places.filter((place) => !place.key.startsWith(key) && place.key.includes(` ${key}`));
  return [...begins, ...within].slice(0, MOST);
}

function combobox(input) {
  const list = document.createElement("ul");
  list.className = "place-list";
  list.id = `${input.id}-list`;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Cidades");
  list.hidden = true;
  const box = document.createElement("div");
  box.className = "place-box";
  input.before(box);
  box.append(input, list);
  input.removeAttribute("list");
  for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false",
    "aria-controls": list.id })) input.setAttribute(name, value);
  let at = -1;

  const close = () => {
    list.hidden = true;
    at = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const mark = (index) => {
    at = index;
    [...list.children].forEach((each, n) => each.setAttribute("aria-selected", String(n === at)));
    input.setAttribute("aria-activedescendant", list.children[at].id);
    list.children[at].scrollIntoView({ block: "nearest" });
  };
  const choose = (item) => {
    input.value = item.textContent;
    close();
  };
  const open = () => {
    const found = matching(input.value);
    list.replaceChildren(...found.map((place, n) => {
      const item = document.createElement("li");
      item.id = `${list.id}-${n}`;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      item.textContent = place.text;
      return item;
    }));
    if (found.length === 0 || (found.length === 1 && found[0].text === input.value)) return close();
    list.hidden = false;
    at = -1;
    return input.setAttribute("aria-expanded", "true");
  };

  input.addEventListener("input", open);
  input.addEventListener("blur", close);
  list.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // the field keeps the focus
    const item = event.target.closest("li");
    if (item) choose(item);
  });
  input.addEventListener("keydown", (event) => {
    const last = list.children.length - 1;
    if (event.key === "ArrowDown" && list.hidden) open();
    if (list.hidden) return;
    if (event.key === "ArrowDown") mark(at < last ? at + 1 : 0);
    else if (event.key === "ArrowUp") mark(at > 0 ? at - 1 : last);
    else if (event.key === "Enter" && at >= 0) choose(list.children[at]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
}

for (const input of document.querySelectorAll("[data-places]")) combobox(input);
