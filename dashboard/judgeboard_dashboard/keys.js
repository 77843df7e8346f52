/* Keys of the pages. M moves to the note, T to the comment for others, and Esc leaves them. A held key counts once.

   On pages with a head line, each press of a key and each click on a key's button gets a number. It is sent to the
   server with all earlier presses that are not acknowledged. The server executes each number once. The next page has
   the last number that is handled and stored (data-done), and the numbers that were not executed because the screen
   may have changed before them (data-returned). These are sent again if they still fit the screen. If the page does not
   change, unacknowledged presses are sent again. The head line shows the number of waiting presses (data-waits) and the
   key of a lost press (data-lost). Double presses are recognised here, since a busy server gets them late and together.

   A cookie keeps the reviewer's name, so that pages do not ask again after a reload or a link. */
(() => {
  if (window.__judgeboardKeys) return;
  window.__judgeboardKeys = true;

  const OURS = /^(Digit[0-9]|Numpad[0-9]|Key[ASDFGYNUZJKLHVQWEBXPIOTRC]|F[246789])$/;
  // Nobody can decide without a name. Until there is one, the keys for decisions move to the name field.
  const NAME = Object.fromEntries(["KeyY", "KeyN", "KeyU"].map((code) => [code, ".st-key-who_name input"]));
  const SHORTCUT = 'kbd[aria-label^="Shortcut "]';
  const SAVE = "Ctrl+Enter";
  const CONTROLS = "a[href], button, select, summary, [role=tab], [role=radio], [role=option], [role=menuitem]";
  const SUBJECT = /^\D*\d+/; // the part of a row that names the answer or the item
  const SEARCH = ".jb-search"; // looks for a text in the passages, without the server
  const FIELDS = { KeyC: SEARCH, KeyM: '[class*="st-key-note_"] input', KeyT: '[class*="st-key-comment_"] input', ...NAME };
  const STALE = 15000; // ms after which a press that still waits for its button is lost
  const SILENT = 900; // ms without a change of the page after which presses are sent again; drawing takes much less
  const NOBODY = 300; // ms without a change of a complete page after which a press without a button is forgotten
  const TRIES = 3; // maximum number of times that a returned press is sent
  const LOOK = 15; // ms between two looks at the page
  const DOUBLE = 250; // ms; two presses of one key within this time, and no other key between, count as one
  const CALM = 1500; // ms without typing after which a note is sent
  const SHOWN = 600; // ms after which the head line shows a waiting press
  const BURST = 150; // ms; nobody who reviews presses keys so fast, but people type so fast
  const REST = 1000; // ms without effect of keys after an unknown letter in a burst: somebody types a sentence
  const BUSY = 100; // ms; if two looks are further apart, the page was busy drawing

  const waiting = []; // presses whose button is not drawn yet
  let sent = []; // presses that are sent and not acknowledged
  let last = { key: null, at: 0 }; // the last press of a key
  let letter = { at: -BURST, unknown: false }; // the last letter that was typed outside fields
  let rests = -REST; // when keys last had to rest
  let count = 0; // the number of the last press
  let session = null; // the server's session when presses were sent
  let row = document.querySelector(".jb-head")?.dataset.row; // the row on the screen
  let appeared = 0; // when the row was first seen; 0 if it was on the page before this script, so people could read it
  let drawn = null; // the row that was last seen with all its buttons
  let text = null; // what is typed into a note that is not drawn yet: {words, ended}
  let moved = 0; // when the page was last seen to be drawn, or presses were sent
  let looked = 0; // when the page was last looked at
  let clicked = -SILENT; // when a held press was clicked whose run has not begun
  let edited = null; // the field whose text is not sent yet
  let left = null; // a press that left such a field: {at, ran, begun}; the run that takes the text may draw its button
  const scrolled = new Set(); // panes that are not at their top

  const typing = (target) => Boolean(target?.closest?.("input, textarea, [contenteditable=true]"));
  const inTable = (target) => Boolean(target?.closest?.("[data-testid=stDataFrame]"));
  const sender = () => window.__judgeboardSend; // sends presses to the server; set soon after the page is loaded
  const head = () => document.querySelector(".jb-head");
  const state = () => document.querySelector("[data-testid=stApp]")?.dataset.testScriptState;
  const running = () => state() === "running";
  const hasKeys = () => document.querySelector(`button ${SHORTCUT}`);
  // The browser loads the code of buttons after the page, on a busy machine seconds after the server has ended its run.
  const drawing = () => state() !== "notRunning" || (!hasKeys() && now() < STALE);
  const now = () => performance.now();

  const swallow = (event) => {
    event.stopImmediatePropagation();
    event.preventDefault();
  };

  /* A letter of another alphabet counts as the Latin letter at its place on the keyboard. */
  const nameOf = ({ key, code }) => (/^[a-z0-9]$/i.test(key) ? key.toUpperCase() : code.replace(/^Key/, ""));

  /* The key that a button shows, as the server writes it: "Y", "Shift+A", "Ctrl+Enter". */
  const keyOf = (kbd) =>
    kbd.getAttribute("aria-label").replace("Shortcut ", "").replace("⌘", "Ctrl").replace("⇧", "Shift").replaceAll(" ", "");

  /* The button that takes the press: of a click the one that was clicked, whatever its key does by now. */
  const taker = ({ key, button }) =>
    button
      ? document.querySelector(`.${button} button:not(:disabled)`)
      : [...document.querySelectorAll(`button:not(:disabled) ${SHORTCUT}`)].find((kbd) => keyOf(kbd) === key)?.closest("button");

  /* The class that names a button, as the server knows it. */
  const nameOfButton = (kbd) =>
    [...(kbd.closest('[class*="st-key-"]')?.classList ?? [])].find((name) => name.startsWith("st-key-"));

  /* What lies over the page takes all keys: nobody sees what they would do below. */
  const covered = () => [...document.querySelectorAll("dialog[open], [role=dialog]")].some((one) => one.checkVisibility());

  /* Whether no page has a button for this letter, or it is T and the drawn page has no comment field. Other letters may
     get their button with the next item. */
  const isUnknown = ({ code }) =>
    (!OURS.test(code) && code !== "KeyM") || (code === "KeyT" && drawn === row && !running() && !visible(FIELDS.KeyT));

  /* Whether this letter belongs to a sentence that is typed outside a field. Each further letter prolongs the rest. */
  const typesSentence = (event) => {
    const at = event.timeStamp;
    const unknown = isUnknown(event);
    const burst = at - letter.at < BURST && (unknown || letter.unknown);
    letter = { at, unknown };
    if (burst || at - rests < REST) rests = at;
    return rests === at;
  };

  /* A key for rubric levels: two quick presses may grade two dimensions and then both count. */
  const each = (key) => /^[0-9K]$/.test(key) && document.querySelector('[class*="st-key-rubric_group"]');

  const lose = (press) => {
    if (press.row === row) head().dataset.lost = press.key;
  };

  /* Whether the page has all that earlier presses and sent texts draw: no button or field is still to come. */
  const complete = () => !left && !sent.length && now() - moved > NOBODY;

  const sendAll = () => {
    window.__judgeboardSelection?.();
    moved = now();
    sender()?.(sent.map(({ n, row, key, button, since }) => ({ n, row, key, button, since, sent: Math.round(moved) })));
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

  const sendNew = () => {
    let more = false;
    while (waiting.length) {
      const [press] = waiting;
      const old = now() - press.at > STALE;
      const stands = !old && press.row === row && drawn === row;
      const field = stands && !press.button && visible(FIELDS[`Key${press.key}`]);
      const takes = stands && !field && taker(press);
      if (!field && !takes && !old && press.row === row && !complete()) break;
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

  /* The field that is visible. The page may still have the hidden field of the previous row. */
  const visible = (fields) => [...document.querySelectorAll(fields)].find((one) => one.offsetParent);

  /* Letters typed after M belong to the note, even if the note is not drawn yet. */
  const takeText = ({ key }) => {
    if (key === "Escape" || key === "Enter") text.ended = true;
    else if (key.length === 1) text.words += key;
  };

  const giveText = () => {
    const field = drawn === row && visible(FIELDS.KeyM);
    if (!field && !complete()) return;
    if (field) {
      field.focus();
      document.execCommand("insertText", false, text.words);
      if (text.ended) field.blur();
    }
    text = null;
  };

  /* Until the run that takes the text of a left field has ended, also on a busy server. */
  const waitForText = () => {
    left.begun ||= running() && !left.ran;
    left.ran = running();
    if ((left.begun && !left.ran) || now() - left.at > STALE) left = null;
  };

  const say = () => {
    const { dataset } = head();
    const oldest = sent[0] ?? waiting[0];
    if (oldest && now() - oldest.at > SHOWN) dataset.waits = sent.length + waiting.length;
    else delete dataset.waits;
  };

  /* A page without a head line leaves its keys to Streamlit. But presses that come before its buttons are drawn wait for
     them here. They are clicked one by one, each after the run of the previous click. */
  const clickHeld = () => {
    text = null;
    if (!running()) sent = [];
    const held = waiting.filter((press) => !press.row && press.path === location.pathname && now() - press.at < STALE);
    waiting.splice(0, Infinity, ...held);
    if (drawing()) clicked = -SILENT;
    if (!held.length || drawing() || now() - clicked < SILENT) return;
    const button = taker(held[0]);
    if (!button && now() - moved <= NOBODY) return;
    waiting.shift();
    if (button) clicked = now();
    button?.click();
  };

  const look = () => {
    if (!head()) {
      clickHeld();
    } else {
      note();
      if (running() || now() - looked > BUSY) moved = now();
      looked = now();
      if (session !== head().dataset.session) {
        sent.forEach(lose); // it is unknown whether the previous server executed them
        sent = [];
      }
      session = head().dataset.session;
      acknowledge();
      if (sent.length && now() - moved > SILENT) sendAll();
      if (left) waitForText();
      if (text) giveText();
      if (!text) sendNew();
      say();
    }
    if (text || sent.length || waiting.length) setTimeout(look, LOOK);
  };

  /* Show the next item from the top of its panes. Only scrolled panes are reset, since each reset costs a layout. */
  const toTop = () => {
    scrolled.forEach((pane) => pane.scrollTo({ top: 0, behavior: "instant" }));
    scrolled.clear();
  };
  window.addEventListener("scroll", ({ target }) => {
    if (target.closest?.('[class*="st-key-pane_"]')) scrolled.add(target);
  }, true);

  /* The head line appears before the buttons. A page without buttons is not complete, even if the server is idle. */
  const note = () => {
    if (head()?.dataset.row !== row) {
      const subject = row?.match(SUBJECT)?.[0];
      row = head()?.dataset.row;
      appeared = now();
      if (subject !== row?.match(SUBJECT)?.[0]) toTop();
    }
    if (!sender() || !hasKeys()) moved = now();
    else if (!running()) drawn = row;
  };

  const wake = () => {
    moved = looked = now();
    setTimeout(look, LOOK);
  };

  const idle = () => !text && !sent.length && !waiting.length;

  const press = (key, at, button) => {
    const double = key === last.key && button === last.button && at - last.at < DOUBLE;
    last = { key, at, button };
    if (double && (button || !each(key))) return;
    if (key === "H") listKeys();
    else queue(key, at, button);
  };

  /* Lists each button that a key presses, with the name of its group, and each field that a key moves to. */
  const list = document.createElement("dialog");
  list.className = "jb-keys";
  list.ariaLabel = "Keys";
  const GROUP = '[class*="_group"]:not([class*="rubric"]), [class*="st-key-schema_"]';
  const entry = (kbd) => {
    const button = kbd.closest("button");
    const group = button.closest(GROUP)?.querySelector(".jb-label")?.firstChild.textContent;
    return [keyOf(kbd), [group, button.querySelector("p")?.textContent].filter(Boolean).join(": ")];
  };
  const listKeys = () => {
    const buttons = [...document.querySelectorAll(`button:not(:disabled) ${SHORTCUT}`)].filter((kbd) => kbd.closest("button").offsetParent);
    const fields = ["C", "M", "T"].map((key) => [key, visible(FIELDS[`Key${key}`])?.ariaLabel]).filter(([, name]) => name);
    if (visible(SEARCH)) fields.push(["R", "Next match"]);
    const cell = (text, at) => Object.assign(document.createElement(at ? "span" : "kbd"), { textContent: text });
    list.replaceChildren(...[...buttons.map(entry), ...fields].flatMap((one) => one.map(cell)));
    document.querySelector("[data-testid=stApp]").append(list); // has the colours
    list.showModal();
  };

  const queue = (key, at, button) => {
    if (idle()) wake();
    waiting.push({ key, button, row, path: location.pathname, since: Math.round(at - appeared), at: now(), tries: 0 });
    if (head()) {
      delete head().dataset.lost;
      session ??= head().dataset.session;
      if (!text) sendNew();
    }
  };

  const click = (event) => {
    list.close();
    const kbd = event.target.closest?.("button:not(:disabled)")?.querySelector(SHORTCUT);
    if (event.isTrusted && !head()) waiting.length = 0; // the click may show another part of the page
    if (!event.isTrusted || !head() || !kbd) return;
    swallow(event);
    note();
    press(keyOf(kbd), event.timeStamp, nameOfButton(kbd));
  };

  const take = (event) => {
    if (!event.isTrusted) return;
    if (list.open) {
      last = { key: null, at: 0 }; // the next H is no double press
      if (event.key !== "Escape") event.stopImmediatePropagation(); // the browser still scrolls the list
      if (event.key.toUpperCase() === "H") list.close();
      return;
    }
    if (covered()) return;
    const saves = event.key === "Enter" && (event.ctrlKey || event.metaKey);
    const hasNewText = event.target === edited;
    if (typing(event.target)) {
      if (event.key === "Escape") event.target.blur();
      const ours = saves ? taker({ key: SAVE }) : /^F[246789]$/.test(event.key);
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
    if (head() && plain && !event.shiftKey && event.key.length === 1 && typesSentence(event)) {
      swallow(event);
      head().dataset.lost = event.key.trim().toUpperCase() || "Space";
      return;
    }
    const shifted = plain && event.shiftKey && /^Key[A-Z]$/.test(event.code); // chooses a failure mode
    const field = plain && !shifted && FIELDS[event.code] && visible(FIELDS[event.code]);
    if (field && (!head() || drawn === row)) {
      swallow(event); // also from Streamlit's own C
      field.focus();
      return;
    }
    if (head() && plain && event.code === "KeyR") {
      swallow(event);
      window.__judgeboardNextMatch?.();
      return;
    }
    if (head() && plain && !shifted && event.code === "KeyM") {
      swallow(event);
      const wakes = idle();
      text = { words: "", ended: false };
      if (wakes) wake();
      return;
    }
    const ours = saves || shifted || (plain && OURS.test(event.code));
    if (!ours || !(head() || waiting.length || (drawing() && !hasKeys()))) return;
    swallow(event);
    if (hasNewText) left = { at: now(), ran: running(), begun: false };
    press(saves ? SAVE : `${shifted ? "Shift+" : ""}${nameOf(event)}`, event.timeStamp);
  };
  window.addEventListener("keydown", take, true);
  window.addEventListener("click", click, true);

  /* A control that shows the focus keeps its own Enter. Streamlit listens on the document and would press the button
     with the shortcut Enter instead. A control that was clicked shows no focus: there, Enter is still the shortcut. */
  document.documentElement.addEventListener("keydown", (event) => {
    const plain = event.key === "Enter" && !event.ctrlKey && !event.metaKey;
    const own = plain && event.target.closest?.(CONTROLS)?.matches(":focus-visible");
    if (own || (covered() && !["Escape", "Tab"].includes(event.key))) event.stopPropagation();
  });

  /* A grid that gets the focus without a click on a cell selects its first cell, which would open the first row. A
     click on a header of a grid that is still being drawn has the same effect. */
  window.addEventListener("focusin", (event) => {
    if (event.target.closest?.('[class*="st-key-opens_"] canvas')) event.stopImmediatePropagation();
  }, true);

  /* When the keys mark another statement, scroll it into view. */
  let at = "";
  const follow = () => {
    const mark = [...document.querySelectorAll("mark[data-at]")].find((one) => one.offsetParent);
    const now = mark ? `${head()?.dataset.row} ${mark.dataset.at}` : "";
    if (mark && now !== at) mark.scrollIntoView({ block: "nearest" });
    at = now;
  };

  let kept = "";
  const remember = () => {
    // A key press redraws the head line alone, so it is newer than the element of the app.
    const { name, suggested = "" } = (head()?.dataset.name ? head() : document.querySelector(".jb-reviewer"))?.dataset ?? {};
    if (name && `${name}\n${suggested}` !== kept) {
      const port = location.port && `_${location.port}`; // browsers send cookies to all ports of a host
      const keep = (cookie, value) => {
        document.cookie = `${cookie}${port}=${encodeURIComponent(value)}; path=/; max-age=${value ? 31536000 : 0}; SameSite=Lax`;
      };
      keep("judgeboard_reviewer", name);
      keep("judgeboard_suggested", suggested);
      kept = `${name}\n${suggested}`;
    }
    follow();
  };
  window.addEventListener("focusout", () => {
    edited = null; // its text is sent
  }, true);

  /* Send a note while it is being typed, so that a reload does not lose it. The simulated Enter keeps the focus. */
  let typed = 0;
  window.addEventListener("input", ({ target }) => {
    if (target.matches(SEARCH)) return;
    edited = target;
    if (!target.closest?.('[class*="st-key-notebox_"]')) return;
    clearTimeout(typed);
    typed = setTimeout(() => {
      if (target !== document.activeElement) return; // a field without the focus was sent already
      edited = null;
      const enter = { key: "Enter", code: "Enter", keyCode: 13, bubbles: true, cancelable: true };
      target.dispatchEvent(new KeyboardEvent("keydown", enter));
    }, CALM);
  }, true);

  // These fields get the focus at once: the correction that F9 opened, the field that K chose.
  const OPENED = {
    F9: '[class*="st-key-corrected_"] textarea',
    K: ".st-key-schema_here input, .st-key-schema_here textarea",
  };
  // The field that a message asks for gets the cursor.
  const ASKED = { note: FIELDS.KeyM, field: OPENED.K, name: FIELDS.KeyY };
  let asked = null;
  let message = ""; // the last message that asked for a text
  const answer = () => {
    const asks = head()?.dataset.asks ?? "";
    const wanted = asks !== message && asks && visible(ASKED[asks.split(" ")[0]]);
    if (wanted) wanted.focus();
    if (wanted || !asks) message = asks;
    const field = OPENED[last.key] && visible(OPENED[last.key]);
    if (field && field !== asked) field.focus();
    asked = field;
  };
  /* A clicked checkbox keeps the focus, and Streamlit ignores shortcuts while a field has the focus. */
  window.addEventListener("click", () => {
    setTimeout(() => document.querySelector('[class*="_bulk"] input[type=checkbox]:focus')?.blur());
  }, true);

  /* Screen readers do not announce a text that appears together with its live region. So the region is always there. */
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
  // Store the name as soon as the server sends it, because a reload may follow.
  new MutationObserver(remember).observe(document.body, {childList: true, subtree: true, attributeFilter: ["data-name", "data-suggested"]});
  remember();
})();
