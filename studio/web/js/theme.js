// The theme is set before the first paint: what the person chose, else what the system prefers. This is a classic script, so it blocks.
(function () {
  const system = matchMedia("(prefers-color-scheme: dark)");
  function stored() {
    try { return localStorage.getItem("studio-theme"); } catch { return null; }
  }
  function apply() {
    document.documentElement.dataset.theme = stored() ?? (system.matches ? "dark" : "light");
    document.dispatchEvent(new Event("studio-theme"));
  }
  apply();
  system.addEventListener("change", apply);
  window.studioTheme = function toggle() {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("studio-theme", next); } catch { /* private windows have no storage; the system's theme stays */ }
    document.documentElement.dataset.theme = next;
    document.dispatchEvent(new Event("studio-theme"));
  };
})();
