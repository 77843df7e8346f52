/* Highlights, in the passages, what the reader looks for: the text of the search field, otherwise the words of the
   sentence under the pointer or of the statement that the keys mark. V and R scroll to the place that fits best and to
   the next one. Also outlines the claim under the pointer (data-claim) in all panes.

   The server lists the words of a sentence that count (data-w). In formatted text, numbers and longer words count. The
   highlights do not change the page: copied and compared text is the stored text. */
(() => {
  if (window.__judgeboardWords || !window.CSS?.highlights) return;
  window.__judgeboardWords = true;

  const MOST = 2000; // highlighted places
  const NEAR = 200; // characters between the words of one match
  const HOVERED = ".jb-answer [data-w], .jb-answer .jb-formatted :is(p, li, td, th, pre, blockquote)";
  let lit = "";
  let hovered = null;
  let matches = []; // the best first: {passage, place, words}
  let at = -1; // the match that was shown last

  const wordsOf = (node) => {
    const own = node.dataset.w;
    const all = own ? own.split(" ") : node.textContent.match(/[\p{L}\p{N}][\p{L}\p{N}.,]*/gu) ?? [];
    const counted = own ? all : all.filter((word) => word.length > 3 || /\p{N}/u.test(word));
    return [...new Set(counted.map((word) => word.replace(/[.,]+$/, "").toLowerCase()))].filter(Boolean).slice(0, 60);
  };

  /* All places of the wanted words in the passages, in order. */
  const placesOf = (wanted, ending) => {
    const escaped = wanted.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    // \x3c: Streamlit drops a script that contains a less-than sign followed by an exclamation mark.
    const start = ending && "(?\x3c![\\p{L}\\p{N}])";
    const pattern = new RegExp(`${start}(?:${escaped.join("|")})${ending}`, "giu");
    const places = [];
    for (const passage of wanted.length ? document.querySelectorAll(".jb-passage") : []) {
      const texts = document.createTreeWalker(passage.querySelector(".jb-evidence"), NodeFilter.SHOW_TEXT);
      for (let behind = 0; texts.nextNode(); behind += texts.currentNode.data.length) {
        for (const { 0: text, index } of texts.currentNode.data.matchAll(pattern)) {
          if (places.length >= MOST) return places;
          const place = new Range();
          place.setStart(texts.currentNode, index);
          place.setEnd(texts.currentNode, index + text.length);
          const word = wanted.find((one) => text.toLowerCase().startsWith(one));
          places.push({ passage, place, word, offset: behind + index });
        }
      }
    }
    return places;
  };

  /* Places that are near each other are one match. It counts its different words, rare ones more. */
  const matchesOf = (places, near) => {
    const found = [];
    const times = Map.groupBy(places, ({ word }) => word);
    for (const one of places) {
      const last = found.at(-1);
      if (last?.passage === one.passage && one.offset - last.offset < near) last.words.add(one.word);
      else found.push({ ...one, words: new Set([one.word]) });
    }
    const weight = ({ words }) => [...words].reduce((sum, word) => sum + 1 / times.get(word).length, 0);
    return near ? found.sort((one, other) => weight(other) - weight(one)) : found;
  };

  const light = (wanted, searched) => {
    lit = `${wanted}`;
    at = -1;
    const places = placesOf(wanted, searched ? "" : "(?!\\p{N})\\p{L}{0,3}(?!\\p{L})");
    matches = matchesOf(places, searched ? 0 : NEAR);
    CSS.highlights.set("jb-words", new Highlight(...places.map(({ place }) => place)));
    CSS.highlights.delete("jb-match");
    for (const link of document.querySelectorAll(".jb-jumps a")) {
      link.toggleAttribute("data-shares", places.some(({ passage }) => `#${passage.id}` === link.hash));
    }
  };

  /* Show the next match in its pane; after the last one, the first. */
  const showNext = () => {
    if (!matches.length) return;
    at = (at + 1) % matches.length;
    const { place } = matches[at];
    const node = place.startContainer.parentElement;
    for (let fold = node; (fold = fold.closest("details")); fold = fold.parentElement) fold.open = true;
    const pane = node.closest('[class*="st-key-pane_"]');
    pane?.scrollBy({ top: place.getBoundingClientRect().top - pane.getBoundingClientRect().top - 90, behavior: "instant" });
    CSS.highlights.set("jb-match", new Highlight(place));
  };
  window.__judgeboardNextMatch = showNext; // for keys.js

  const field = () => document.querySelector(".jb-search");
  /* The statement that the key V moved to. It counts if no sentence is under the pointer. */
  const chosen = () => {
    const mark = [...document.querySelectorAll(".jb-answer mark[data-at]")].find((one) => one.offsetParent);
    return mark?.closest("[data-w]") ?? mark ?? null;
  };
  let marked = null;
  const update = () => {
    if (!hovered?.isConnected) hovered = null;
    const text = field()?.value.trim().toLowerCase(), statement = chosen();
    const moved = statement?.textContent !== marked?.textContent;
    marked = statement;
    const node = moved ? statement : hovered ?? statement;
    const wanted = text ? [text] : node ? wordsOf(node) : [];
    if (`${wanted}` !== lit || (matches[0] && !matches[0].passage.isConnected)) light(wanted, Boolean(text));
    if (moved && statement && !text) showNext();
  };
  document.addEventListener("input", ({ target }) => {
    if (target !== field()) return;
    update();
    showNext();
  });
  document.addEventListener("keydown", ({ target, key }) => {
    if (key === "Enter" && target === field()) showNext();
  });
  /* A sheet of its own. Rules with :has() would do the same without a script, and slow down each key press. */
  const outlines = new CSSStyleSheet();
  document.adoptedStyleSheets.push(outlines);
  let outlined = "";
  const outline = (node) => {
    const claims = [];
    for (let part = node; (part = part?.closest?.("[data-claim]")); part = part.parentElement) {
      claims.push(`[data-claim="${part.dataset.claim}"]`);
    }
    const rule = claims.length ? `${claims} { outline: 1.5px solid var(--jb-acc); }` : "";
    if (rule !== outlined) outlines.replaceSync((outlined = rule));
  };
  document.addEventListener("mouseover", (event) => {
    hovered = event.target.closest?.(HOVERED) ?? null;
    outline(event.target);
    update();
  });
  /* Remove the focus. Otherwise the next key after a selection with the mouse would outline the whole page. */
  document.addEventListener("mouseup", () => document.querySelector("[data-testid=stMain]:focus")?.blur());
  let waits = false;
  new MutationObserver(() => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      update();
    });
  }).observe(document.body, { childList: true, subtree: true, attributeFilter: ["data-at"] });
})();
