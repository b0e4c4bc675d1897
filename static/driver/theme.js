// Night or glare on the scan page, kept in the cookie that every page reads. Until the driver has chosen, the hour
// decides: after dusk a bright page would blind.

const isDark = (hour) => hour < 6 || hour >= 18;

function wear(theme) {
  document.documentElement.dataset.theme = theme;
}

if (!document.documentElement.dataset.theme) wear(isDark(new Date().getHours()) ? "night" : "glare");

/** Lets `button` change between the two and remembers the choice for a year. */
export function toggleBy(button) {
  button.addEventListener("click", () => {
    const theme = document.documentElement.dataset.theme === "night" ? "glare" : "night";
    wear(theme);
    document.cookie = `theme=${theme}; path=/; max-age=31536000; samesite=lax`;
  });
}
