/* Highlights, in the passages, the words of the sentence under the pointer or of the statement that the keys mark, and
   outlines the claim under the pointer (data-claim) in all panes.

   The server lists the words of a sentence that count (data-w). In formatted text, numbers and longer words count. The
   highlights do not change the page: copied and compared text is the stored text. */
(() => {
  if (window.__judgeboardWords || !window.CSS?.highlights) return;
  window.__judgeboardWords = true;

  const NAME = "jb-words";
  const MOST = 2000; // highlighted places
  const HOVERED = ".jb-answer [data-w], .jb-answer .jb-formatted :is(p, li, td, th, pre, blockquote)";
  let lit = null;
  let hovered = null;

  const words = (node) => {
    const own = node.dataset.w;
    const all = own ? own.split(" ") : node.textContent.match(/[\p{L}\p{N}][\p{L}\p{N}.,]*/gu) ?? [];
    const counted = own ? all : all.filter((word) => word.length > 3 || /\p{N}/u.test(word));
    return [...new Set(counted.map((word) => word.replace(/[.,]+$/, "")))].filter(Boolean).slice(0, 60);
  };

  const light = (node) => {
    lit = node;
    CSS.highlights.delete(NAME);
    const wanted = node ? words(node) : [];
    if (!wanted.length) return;
    const escaped = wanted.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    // \x3c: Streamlit drops a script that contains a less-than sign followed by an exclamation mark.
    const pattern = new RegExp(`(?\x3c![\\p{L}\\p{N}])(?:${escaped.join("|")})(?!\\p{N})\\p{L}{0,3}(?!\\p{L})`, "giu");
    const places = new Highlight();
    for (const passage of document.querySelectorAll(".jb-passage .jb-evidence")) {
      const texts = document.createTreeWalker(passage, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        for (const match of texts.currentNode.data.matchAll(pattern)) {
          if (places.size >= MOST) break;
          const place = new Range();
          place.setStart(texts.currentNode, match.index);
          place.setEnd(texts.currentNode, match.index + match[0].length);
          places.add(place);
        }
      }
    }
    CSS.highlights.set(NAME, places);
  };

  /* The statement that the key V moved to. It counts if no sentence is under the pointer. */
  const chosen = () => {
    const mark = [...document.querySelectorAll(".jb-answer mark[data-at]")].find((one) => one.offsetParent);
    return mark?.closest("[data-w]") ?? mark ?? null;
  };
  const update = () => {
    if (!hovered?.isConnected) hovered = null;
    const node = hovered ?? chosen();
    if (node !== lit) light(node);
  };
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
