// Shows of each passenger only the fields that the chosen document asks for; without it all of them stand there.

function show(person) {
  const kind = person.querySelector("[data-kind]").value;
  for (const input of person.querySelectorAll("[data-for]")) {
    input.closest(".field").hidden = !input.dataset.for.split(" ").includes(kind) && !input.value;
  }
}

for (const person of document.querySelectorAll("[data-person]")) {
  person.addEventListener("change", () => show(person));
  show(person);
}
