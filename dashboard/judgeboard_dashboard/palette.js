/* The command palette: / or Ctrl-K opens it. In it, Up and Down choose a result, Enter opens it.

   The field sends its text while a person types. Letters typed on a result, or before the palette is open, go into the
   field and not to the page behind. keys.js calls __judgeboardPalette to learn whether the palette takes the keys. */
(() => {
  if (window.__judgeboardPalette) return;
  const PAUSE = 200; // ms without a key until the text is sent
  const OPENING = 15000; // ms until a palette that did not open is given up; a busy machine draws a page for seconds
  const APART = 100; // ms between two changes that are sent: Streamlit may drop one of two that are sent together
  const AGAIN = 700; // ms until the button is clicked again if no palette has opened: Streamlit may drop a click
  let timer = 0;
  let begun = null; // when the key was pressed whose palette is not open yet
  let clicked = false; // whether the button was clicked since the key was pressed
  let typed = ""; // what the person typed: the field keeps it, whatever the server draws
  let opens = null; // the text whose first result opens as soon as it is there
  let sent = { text: "", apart: true }; // the text that the server has; whether a click may follow it

  const field = () => document.querySelector("[role=dialog] .st-key-palette_text input");
  const results = () => [...document.querySelectorAll('[role=dialog] [class*="st-key-palette_to_"] button')];
  const found = () => document.querySelector("[role=dialog] .jb-found")?.dataset ?? {};
  const opening = () => begun !== null && performance.now() - begun < OPENING;
  window.__judgeboardPalette = () => opening() || field() !== null;
  const typing = (target) =>
    Boolean(target?.closest?.("input, textarea, [contenteditable=true], [data-testid=stDataFrame]"));

  const keep = (event) => {
    event.stopImmediatePropagation();
    event.preventDefault();
  };

  const send = () => {
    clearTimeout(timer);
    if (!field()) return;
    const now = { text: field().value.trim(), apart: false };
    sent = now;
    field().dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", code: "Enter", keyCode: 13, bubbles: true }));
    setTimeout(() => {
      now.apart = true;
      openFirst();
    }, APART);
  };

  const openFirst = () => {
    if (opens === null || !field() || found().text !== opens || !sent.apart) return;
    const first = found().first && document.querySelector(`[role=dialog] .st-key-${found().first} button`);
    if (found().first && !first) return; // its text is drawn before its button
    opens = null;
    first?.click();
  };

  const inPalette = (event) => {
    const all = results();
    const at = all.indexOf(document.activeElement);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      keep(event);
      const to = at + (event.key === "ArrowDown" ? 1 : -1);
      if (to < 0) field().focus();
      else all[Math.min(to, all.length - 1)]?.focus();
    } else if (event.key === "Enter" && event.target === field()) {
      keep(event);
      opens = field().value.trim();
      // A list of this text may be an older one: the server opens a result of the text that it has.
      if (sent.text !== opens) send();
      else openFirst();
    } else if (!["Enter", "Escape", "Tab", "Shift"].includes(event.key)) {
      event.stopImmediatePropagation();
      if (event.target !== field()) field().focus();
    }
  };

  const open = () => {
    if (!opening()) return;
    const running = document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "running";
    const button = document.querySelector(".st-key-palette_open button");
    if (button && !(clicked && running)) {
      button.click();
      clicked = true;
    }
    setTimeout(open, clicked ? AGAIN : 100);
  };

  window.addEventListener("keydown", (event) => {
    if (!event.isTrusted) return;
    if (field()) {
      inPalette(event);
      return;
    }
    if (opening()) {
      opens = event.key === "Enter" ? typed.trim() : null;
      if (event.key === "Escape") {
        begun = null;
        typed = "";
      } else if (event.key === "Backspace") typed = typed.slice(0, -1);
      else if (!event.ctrlKey && !event.metaKey && event.key.length === 1) typed += event.key;
      if (event.key !== "Escape") keep(event);
      return;
    }
    const slash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !typing(event.target);
    const control = event.code === "KeyK" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    if (!slash && !control) return;
    if (document.querySelector("[role=dialog], dialog[open]")) return;
    keep(event);
    begun = performance.now();
    typed = "";
    opens = null;
    clicked = false;
    setTimeout(open, APART); // the text of a field that was just left is sent first
  }, true);

  window.addEventListener("input", (event) => {
    if (event.target !== field()) return;
    typed = field().value;
    if (event.isTrusted) opens = null;
    clearTimeout(timer);
    timer = setTimeout(send, PAUSE);
  }, true);

  window.addEventListener("click", (event) => {
    if (event.isTrusted && event.target.closest?.(".st-key-palette_open") && !opening()) typed = "";
  }, true);

  let shown = null; // the field that got the focus when the palette opened
  new MutationObserver(() => {
    const now = field();
    if (now && now !== shown) {
      sent = { text: now.value.trim(), apart: true };
      now.focus();
      begun = null;
    }
    shown = now;
    if (now && now.value !== typed) {
      // The field is drawn anew, or a second click on the button has emptied it.
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(now, typed);
      now.dispatchEvent(new Event("input", { bubbles: true }));
    }
    openFirst();
  }).observe(document.body, {
    childList: true,
    subtree: true,
    attributeFilter: ["data-text", "data-first", "value"],
  });
})();
