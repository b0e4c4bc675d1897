// A button that copies what stands in a field, for browsers that can; `data-copy` names the field.

export function offerCopy() {
  const button = document.querySelector("[data-copy]");
  if (!button) return;
  const field = document.getElementById(button.dataset.copy);
  const told = document.querySelector("[data-copied]");
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      field.select();
      document.execCommand("copy");
    }
    button.lastChild.textContent = "Copiado";
    told.textContent = "Copiado.";
  });
}
