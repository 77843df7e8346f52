/* Keys that are pressed while keys.js is still being loaded: it takes them when it begins. */
if (!window.__judgeboardEarly) {
  const early = (window.__judgeboardEarly = []);
  window.addEventListener("keydown", (event) => {
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const typing = event.target.closest?.("input, textarea, [contenteditable=true], [data-testid=stDataFrame]");
    if (window.__judgeboardKeys || !event.isTrusted || event.repeat || !plain || typing) return;
    const ofText = early.length && (event.key.length === 1 || /^(Escape|Enter)$/.test(event.key)); // a note after M
    if (!document.querySelector(".jb-head") || !(ofText || /^(Key[A-Z]|Digit[0-9]|F[0-9])$/.test(event.code))) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    early.push(event);
  }, true);
}
