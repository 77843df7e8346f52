/* Draws a page with charts again when it turns from light to dark or back: the server draws charts in the theme's
   colours, and Streamlit tells it the theme only with the next run. */
(() => {
  const scheme = () => getComputedStyle(document.querySelector(".stApp") ?? document.body).colorScheme;
  if (window.__judgeboardTheme) return;
  window.__judgeboardTheme = scheme();

  setInterval(() => {
    if (scheme() === window.__judgeboardTheme) return;
    window.__judgeboardTheme = scheme();
    if (document.querySelector("[data-testid=stVegaLiteChart]"))
      document.querySelector(".st-key-theme_changed button")?.click();
  }, 250);
})();
