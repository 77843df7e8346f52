/* Keys of the pages. M goes into the note, T into the comment for others, and Esc leaves them. A held key counts once.

   On pages with a head line, every press of a key, and every click on the button of a key, has a number and goes to the
   server with all presses before it that are not acknowledged. The server executes each number once. The page it draws
   then says the last number that is executed and committed (data-done), and the numbers that it returns, because the
   screen could change before them (data-returned): these go again if they still fit the screen. What is not acknowledged
   when the page stands still is sent again. The head line shows how many presses wait (data-waits), and the key of one that was not executed
   (data-lost). Double presses are recognised here, where they are made: a busy server gets them late and together.

   The reviewer's name is kept in a cookie of the browser, so that a reload or a link asks no more. */
(() => {
  if (window.__judgeboardKeys) return;
  window.__judgeboardKeys = true;

  const OURS = /^(Digit[0-9]|Numpad[0-9]|Key[ASDFGYNUZJKLHVQWEBXPIOT]|F[24789])$/;
  // Without a name nothing can be decided: the keys that decide lead to its field.
  const NAME = Object.fromEntries(["KeyY", "KeyN", "KeyU"].map((code) => [code, ".st-key-who_name input"]));
  const SHORTCUT = 'kbd[aria-label^="Shortcut "]';
  const SAVE = "Ctrl+Enter";
  const SUBJECT = /^\D*\d+/; // the part of a row that names the answer or the item
  const FIELDS = { KeyM: '[class*="st-key-note_"] input', KeyT: '[class*="st-key-comment_"] input', ...NAME };
  const STALE = 15000; // ms after which a press that no button takes is forgotten
  const SILENT = 900; // ms of standstill after which presses are sent again: well above what drawing takes
  const NOBODY = 300; // ms of standstill after which a press that no button takes is forgotten: none was to be drawn
  const TRIES = 3; // how often a press that the server returns goes again
  const LOOK = 15; // ms between two looks at the page
  const DOUBLE = 250; // ms; two presses of one key within them, and of no other between, count as one
  const CALM = 1500; // ms without typing after which a note is sent
  const SHOWN = 600; // ms after which a press that waits is shown
  const BUSY = 100; // ms between two looks after which the page was busy drawing, and had no time for them

  const waiting = []; // presses whose button is not drawn yet
  let sent = []; // presses that are sent and not acknowledged
  let last = { key: null, at: 0 }; // the last press of a key
  let count = 0; // the number of the last press
  let session = null; // the session that the server had when presses were sent
  let row = document.querySelector(".jb-head")?.dataset.row; // the row on the screen
  let appeared = 0; // when it was first seen; one that stood before this script did is read already
  let drawn = null; // the row that was last seen with all its buttons
  let text = null; // what is typed into a note that is not drawn yet: {words, ended}
  let moved = 0; // when the page was last seen to be drawn, or presses were sent
  let looked = 0; // when the last look was
  const scrolled = new Set(); // panes that are not at their top

  const typing = (target) => Boolean(target?.closest?.("input, textarea, [contenteditable=true]"));
  const inTable = (target) => Boolean(target?.closest?.("[data-testid=stDataFrame]"));
  const sender = () => window.__judgeboardSend; // sends presses to the server; it is there soon after the page
  const head = () => document.querySelector(".jb-head");
  const running = () => document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "running";
  const now = () => performance.now();

  const swallow = (event) => {
    event.stopImmediatePropagation();
    event.preventDefault();
  };

  /* A letter of another alphabet is known by its place on the keyboard. */
  const nameOf = ({ key, code }) => (/^[a-z0-9]$/i.test(key) ? key.toUpperCase() : code.replace(/^Key/, ""));

  /* The key that a button shows, as the server knows it: "Y", "Shift+A", "Ctrl+Enter". */
  const keyOf = (kbd) =>
    kbd.getAttribute("aria-label").replace("Shortcut ", "").replace("⌘", "Ctrl").replace("⇧", "Shift").replaceAll(" ", "");

  /* Whether a button takes the press. */
  const taker = ({ key }) =>
    [...document.querySelectorAll(`button:not(:disabled) ${SHORTCUT}`)].some((kbd) => keyOf(kbd) === key);

  /* Levels of a rubric: one key may be meant for two dimensions, one after the other. */
  const each = (key) => /^[0-9K]$/.test(key) && document.querySelector('[class*="st-key-rubric_group"]');

  const lose = (press) => {
    if (press.row === row) head().dataset.lost = press.key;
  };

  const sendAll = () => {
    moved = now();
    sender()?.(sent.map(({ n, row, key, since }) => ({ n, row, key, since, sent: Math.round(moved) })));
  };

  const acknowledge = () => {
    const done = Number(head().dataset.done);
    const returned = (head().dataset.returned ?? "").split(" ").map(Number);
    const again = [];
    for (const press of sent.filter(({ n }) => n <= done && returned.includes(n))) {
      press.tries += 1;
      if (press.tries < TRIES) again.push(press);
      else lose(press);
    }
    sent = sent.filter(({ n }) => n > done);
    waiting.unshift(...again);
  };

  const sendNew = (stood) => {
    let more = false;
    while (waiting.length) {
      const [press] = waiting;
      const old = now() - press.at > STALE;
      const stands = !old && press.row === row && drawn === row;
      const field = stands && visible(FIELDS[`Key${press.key}`]);
      const takes = stands && !field && taker(press);
      if (!field && !takes && !old && press.row === row && stood <= NOBODY) break;
      waiting.shift();
      if (old) lose(press);
      if (field) field.focus();
      if (takes) {
        count += 1;
        sent.push({ ...press, n: count });
        more = true;
      }
    }
    if (more) sendAll();
  };

  /* Of the fields the one on the screen: that of the row before may be there still, unseen. */
  const visible = (fields) => [...document.querySelectorAll(fields)].find((one) => one.offsetParent);

  /* Letters that follow M are no keys, also while the note is not drawn yet. */
  const takeText = ({ key }) => {
    if (key === "Escape" || key === "Enter") text.ended = true;
    else if (key.length === 1) text.words += key;
  };

  const giveText = (stood) => {
    const field = drawn === row && visible(FIELDS.KeyM);
    if (!field && stood <= NOBODY) return;
    if (field) {
      field.focus();
      document.execCommand("insertText", false, text.words);
      if (text.ended) field.blur();
    }
    text = null;
  };

  const say = () => {
    const { dataset } = head();
    const oldest = sent[0] ?? waiting[0];
    if (oldest && now() - oldest.at > SHOWN) dataset.waits = sent.length + waiting.length;
    else delete dataset.waits;
  };

  /* A page without a head takes no presses. */
  const leave = () => {
    waiting.length = 0;
    text = null;
    if (!running()) sent = [];
  };

  const look = () => {
    if (!head()) {
      leave();
    } else {
      note();
      if (running() || now() - looked > BUSY) moved = now();
      looked = now();
      if (session !== head().dataset.session) {
        sent.forEach(lose); // whether the server before executed them is not known
        sent = [];
      }
      session = head().dataset.session;
      acknowledge();
      if (sent.length && now() - moved > SILENT) sendAll();
      if (text) giveText(now() - moved);
      if (!text) sendNew(now() - moved);
      say();
    }
    if (text || sent.length || waiting.length) setTimeout(look, LOOK);
  };

  /* The next item starts at the top of the panes. Only those that were scrolled are touched: it costs a layout. */
  const toTop = () => {
    scrolled.forEach((pane) => pane.scrollTo({ top: 0, behavior: "instant" }));
    scrolled.clear();
  };
  window.addEventListener("scroll", ({ target }) => {
    if (target.closest?.('[class*="st-key-pane_"]')) scrolled.add(target);
  }, true);

  /* The head stands before the buttons do: a page without any is still being drawn, however quiet the server is. */
  const note = () => {
    if (head()?.dataset.row !== row) {
      const subject = row?.match(SUBJECT)?.[0];
      row = head()?.dataset.row;
      appeared = now();
      if (subject !== row?.match(SUBJECT)?.[0]) toTop();
    }
    if (!sender() || !document.querySelector("button kbd")) moved = now();
    else if (!running()) drawn = row;
  };

  const wake = () => {
    moved = looked = now();
    setTimeout(look, LOOK);
  };

  const idle = () => !text && !sent.length && !waiting.length;

  const press = (key, at) => {
    const double = key === last.key && at - last.at < DOUBLE;
    last = { key, at };
    if (double && !each(key)) return;
    const wakes = idle();
    delete head().dataset.lost;
    session ??= head().dataset.session;
    waiting.push({ key, row, since: Math.round(now() - appeared), at: now(), tries: 0 });
    if (!text) sendNew(0);
    if (wakes) wake();
  };

  const click = (event) => {
    const kbd = event.target.closest?.("button:not(:disabled)")?.querySelector(SHORTCUT);
    if (!event.isTrusted || !head() || !kbd) return;
    swallow(event);
    note();
    press(keyOf(kbd), event.timeStamp);
  };

  const take = (event) => {
    if (!event.isTrusted || window.__judgeboardPalette?.()) return;
    const saves = event.key === "Enter" && (event.ctrlKey || event.metaKey);
    if (typing(event.target)) {
      if (event.key === "Escape") event.target.blur();
      const ours = saves ? taker({ key: SAVE }) : /^F[24789]$/.test(event.key);
      if (!ours || !head() || event.target.closest("form, [data-testid=stForm]")) return;
      event.target.blur(); // its text is sent before the press
    }
    if (inTable(event.target)) return;
    if (text && !text.ended) {
      swallow(event);
      takeText(event);
      return;
    }
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.repeat && (/^(Key|Digit|Numpad|F)/.test(event.code) || event.key === "Enter")) {
      swallow(event);
      return;
    }
    note();
    const shifted = plain && event.shiftKey && /^Key[A-Z]$/.test(event.code); // chooses a failure mode
    const field = plain && !shifted && FIELDS[event.code] && visible(FIELDS[event.code]);
    if (field && (!head() || drawn === row)) {
      event.preventDefault();
      field.focus();
      return;
    }
    if (head() && plain && !shifted && event.code === "KeyM") {
      swallow(event);
      const wakes = idle();
      text = { words: "", ended: false };
      if (wakes) wake();
      return;
    }
    if (!head() || !(saves || shifted || (plain && OURS.test(event.code)))) return;
    swallow(event);
    press(saves ? SAVE : `${shifted ? "Shift+" : ""}${nameOf(event)}`, event.timeStamp);
  };
  window.addEventListener("keydown", take, true);
  window.addEventListener("click", click, true);

  /* A grid that gets the focus without a press on a cell selects its first cell, and that would open the first row. A
     click on a header is no such press while the grid is still being drawn. */
  window.addEventListener("focusin", (event) => {
    if (event.target.closest?.('[class*="st-key-opens_"] canvas')) event.stopImmediatePropagation();
  }, true);

  /* The statement that the keys mark comes into view when another one is chosen. */
  let at = "";
  const follow = () => {
    const mark = [...document.querySelectorAll("mark[data-at]")].find((one) => one.offsetParent);
    const now = mark ? `${head()?.dataset.row} ${mark.dataset.at}` : "";
    if (mark && now !== at) mark.scrollIntoView({ block: "nearest" });
    at = now;
  };

  let kept = "";
  const remember = () => {
    const name = document.querySelector(".jb-reviewer")?.dataset.name;
    if (name && name !== kept) document.cookie = `judgeboard_reviewer=${encodeURIComponent(name)}; path=/; max-age=31536000; SameSite=Lax`;
    kept = name || kept;
    follow();
  };
  /* A note reaches the server while it is being typed, so that a reload loses none of it; Enter keeps the focus. */
  let typed = 0;
  window.addEventListener("input", ({ target }) => {
    if (!target.closest?.('[class*="st-key-note_"]')) return;
    clearTimeout(typed);
    typed = setTimeout(() => {
      if (target !== document.activeElement) return; // one that was left is sent already
      const enter = { key: "Enter", code: "Enter", keyCode: 13, bubbles: true, cancelable: true };
      target.dispatchEvent(new KeyboardEvent("keydown", enter));
    }, CALM);
  }, true);

  // These fields get the focus at once: the reason to skip, the correction that F9 opened, the field that K chose.
  const OPENED = {
    F9: '[class*="st-key-corrected_"] textarea',
    K: ".st-key-schema_here input, .st-key-schema_here textarea",
  };
  let asked = null;
  const answer = () => {
    const field = visible(`[class*="st-key-reason_"] input${OPENED[last.key] ? `, ${OPENED[last.key]}` : ""}`);
    if (field && field !== asked) field.focus();
    asked = field;
  };
  /* A box that is checked keeps the focus, and Streamlit takes no key while a field has it. */
  window.addEventListener("click", () => {
    setTimeout(() => document.querySelector('[class*="_bulk"] input[type=checkbox]:focus')?.blur());
  }, true);

  /* A text that is drawn together with its region would not be read out: the region is always there. */
  const region = document.createElement("div");
  region.className = "jb-unseen";
  region.setAttribute("role", "status");
  document.body.append(region);
  const readOut = () => {
    const message = head()?.querySelector(".jb-saved, .jb-refused")?.textContent ?? "";
    if (region.textContent !== message) region.textContent = message;
  };
  new MutationObserver(() => {
    moved = now();
    note();
    answer();
    readOut();
  }).observe(document.body, {childList: true, subtree: true});
  // As soon as the server says the name: what comes after the last press of a key may be a reload.
  new MutationObserver(remember).observe(document.body, {childList: true, subtree: true, attributeFilter: ["data-name"]});
  remember();
})();
