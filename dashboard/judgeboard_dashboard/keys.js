/* Keys that Streamlit's shortcuts cannot do by themselves.

   M goes into the note, T into the comment for others, and Esc leaves them. A held key counts once. On the item page presses reach the server one after
   the other, each sent when the one before was taken: Streamlit loses a press that arrives while another is just being
   taken. The head line says how many were taken (data-taken); one that is missing when the page stands still is sent
   again. It also shows how many presses wait (data-waits), and the key of one that was never taken (data-lost).
   Whether two presses of a key are one is measured here, where they are made: a busy server gets them late and close
   together. The reviewer's name is kept in a cookie of the browser, so that a reload or a link asks no more. */
(() => {
  if (window.__judgeboardKeys) return;
  window.__judgeboardKeys = true;

  const OURS = /^(Digit[0-9]|Numpad[0-9]|Key[ASDFGYNUZJKLHVQWEBXPIO]|F[24])$/;
  // Without a name nothing can be decided: the keys that decide lead to its field.
  const NAME = Object.fromEntries(["KeyY", "KeyN", "KeyU"].map((code) => [code, ".st-key-who_name input"]));
  const FIELDS = { KeyM: '[class*="st-key-note_"] input', KeyT: '[class*="st-key-comment_"] input', ...NAME };
  const STALE = 15000; // ms after which a press that could not be sent is forgotten
  const SILENT = 900; // ms of standstill after which a press counts as lost: well above what drawing takes
  const NOBODY = 300; // ms of standstill after which a press that no button takes is forgotten: none was to be drawn
  const TRIES = 3;
  const LOOK = 15; // ms between two looks at the page
  const DOUBLE = 250; // ms; two presses of one key within them count as one, here and on the server
  const CALM = 1500; // ms without typing after which a note is sent
  const SHOWN = 600; // ms after which a press that waits is shown
  const BUSY = 100; // ms between two looks after which the page was busy drawing, and had no time for them
  const waiting = [];
  const pressed = new Map(); // when each key was last pressed
  let sent = null; // the press that is on its way: {press, taken, tries}
  let last = { code: null, at: 0 }; // the last press that was taken, and when that was seen
  let moved = 0; // when the page was last seen to be drawn, or a press was made
  let looked = 0; // when the last look was

  const typing = (target) => Boolean(target?.closest?.("input, textarea, [contenteditable=true]"));
  const inTable = (target) => Boolean(target?.closest?.("[data-testid=stDataFrame]"));
  const head = () => document.querySelector(".jb-head");
  const running = () => document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "running";
  const now = () => performance.now();

  const swallow = (event) => {
    event.stopImmediatePropagation();
    event.preventDefault();
  };

  /* Down and up: what listens to the shortcuts takes a key that never came up for held, and is deaf to all others. */
  const dispatch = (press) => {
    for (const type of ["keydown", "keyup"]) {
      const event = new KeyboardEvent(type, { ...press.keys, bubbles: true, cancelable: true, composed: true });
      event.judgeboard = true;
      (document.activeElement || document.body).dispatchEvent(event);
    }
  };

  /* Whether a button takes the press; a letter of another alphabet is known by its place on the keyboard. */
  const taker = ({ keys }) => {
    const name = /^[a-z0-9]$/i.test(keys.key) ? keys.key.toUpperCase() : keys.code.replace(/^Key/, "");
    const labels = keys.ctrlKey || keys.metaKey ? [`Ctrl + ${name}`, `⌘ + ${name}`] : [name];
    return labels.some((one) => document.querySelector(`button:not(:disabled) kbd[aria-label="Shortcut ${one}"]`));
  };

  /* Levels of a rubric: one key may be meant for two dimensions, one after the other. */
  const each = ({ keys }) =>
    /^(Digit|Numpad|KeyK)/.test(keys.code) && document.querySelector('[class*="st-key-rubric_group"]');

  const tooSoon = (press) => press.keys.code === last.code && now() - last.at <= DOUBLE && !each(press);

  const say = () => {
    const { dataset } = head();
    const oldest = sent?.press ?? waiting[0];
    if (oldest && now() - oldest.at > SHOWN) dataset.waits = waiting.length + (sent ? 1 : 0);
    else delete dataset.waits;
  };

  const onItsWay = (press, tries) => {
    sent = { press, tries, taken: head().dataset.taken };
    moved = now();
  };

  /* Meant for the row that was on the screen; a note that is being typed is not to get it either. */
  const meant = (press) =>
    now() - press.at < STALE && press.row === head()?.dataset.row && !typing(document.activeElement);

  /* The head stands before the buttons do: a page without any is still being drawn, however quiet the server is. */
  const drawing = () => running() || !document.querySelector("button kbd");

  const followUp = (stood) => {
    const { press, tries, taken } = sent;
    const silent = stood > SILENT;
    if (head().dataset.taken !== taken) {
      last = { code: press.keys.code, at: now() };
      sent = null;
    } else if (stood > NOBODY && !taker(press)) {
      sent = null;
    } else if (silent && tries < TRIES && meant(press)) {
      onItsWay(press, tries + 1);
      dispatch(press);
    } else if (silent) {
      head().dataset.lost = press.keys.key.toUpperCase();
      sent = null;
    }
  };

  const sendNext = (stood) => {
    while (!sent && waiting.length) {
      const [press] = waiting;
      const takes = meant(press) && taker(press);
      if (meant(press) && (takes ? tooSoon(press) : stood <= NOBODY)) return;
      waiting.shift();
      if (takes) {
        onItsWay(press, 1);
        dispatch(press);
      }
    }
  };

  const look = () => {
    if (!head()) {
      waiting.length = 0;
      sent = null;
      return;
    }
    if (drawing() || now() - looked > BUSY) moved = now();
    looked = now();
    const stood = looked - moved;
    if (sent) followUp(stood);
    sendNext(stood);
    say();
    if (sent || waiting.length) setTimeout(look, LOOK);
  };

  window.addEventListener("keydown", (event) => {
    if (event.judgeboard || !event.isTrusted) return;
    if (typing(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (inTable(event.target)) return;
    const saves = event.key === "Enter" && (event.ctrlKey || event.metaKey);
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.repeat && (/^(Key|Digit|Numpad)/.test(event.code) || event.key === "Enter")) {
      swallow(event);
      return;
    }
    const goal = plain && FIELDS[event.code];
    const fields = goal ? [...document.querySelectorAll(goal)] : [];
    const field = fields.find((one) => one.offsetParent); // that of the row before is still there, unseen
    if (field) {
      event.preventDefault();
      field.focus();
      return;
    }
    if (!head() || !(saves || (plain && OURS.test(event.code)))) return;
    const { key, code, shiftKey, ctrlKey, metaKey } = event;
    const press = { keys: { key, code, shiftKey, ctrlKey, metaKey }, at: now(), row: head().dataset.row };
    const before = pressed.get(code) ?? -DOUBLE;
    pressed.set(code, event.timeStamp);
    if (event.timeStamp - before < DOUBLE && !each(press)) {
      swallow(event);
      return;
    }
    delete head().dataset.lost;
    const idle = !sent && !waiting.length;
    if (idle && taker(press) && !tooSoon(press)) {
      onItsWay(press, 1);
    } else {
      swallow(event);
      waiting.push(press);
    }
    if (!idle) return;
    moved = looked = now();
    setTimeout(look, LOOK);
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

  let asked = null; // the field that asks why an item is skipped: typed into at once
  const answer = () => {
    const field = [...document.querySelectorAll('[class*="st-key-reason_"] input')].find((each) => each.offsetParent);
    if (field && field !== asked) field.focus();
    asked = field;
  };
  new MutationObserver(() => {
    moved = now();
    answer();
  }).observe(document.body, {childList: true, subtree: true});
  // As soon as the server says the name: what comes after the last press of a key may be a reload.
  new MutationObserver(remember).observe(document.body, {childList: true, subtree: true, attributeFilter: ["data-name"]});
  remember();
})();
