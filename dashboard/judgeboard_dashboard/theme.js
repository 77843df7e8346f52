/* Draws a page with charts again when it turns from light to dark or back: the server draws charts in the theme's
   colours, and Streamlit tells it the theme only with the next run. That run would close the command palette, so it
   waits until the palette is closed. */
(() => {
  if (window.__judgeboardTheme) return;
  window.__judgeboardTheme = true;

  const scheme = () => getComputedStyle(document.querySelector(".stApp") ?? document.body).colorScheme;
  let drawn = scheme();
  setInterval(() => {
    if (scheme() === drawn || window.__judgeboardPalette?.()) return;
    drawn = scheme();
    if (document.querySelector("[data-testid=stVegaLiteChart]"))
      document.querySelector(".st-key-theme_changed button")?.click();
  }, 250);
})();
