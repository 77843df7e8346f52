/* Draws the spans of a label schema in the texts, and tells the server what a reviewer selects there. */

const evidence = (node) => (node?.nodeType === 1 ? node : node?.parentElement)?.closest?.(".jb-evidence");
const place = (box) => {
  const passage = box.closest(".jb-passage");
  if (passage) return Number(passage.id.slice(1));
  return box.classList.contains("jb-answer") ? 0 : null;
};
const points = (text) => [...text].length; // Python counts code points

/* The range from character `start` to character `end` of an element. */
const rangeIn = (box, start, end) => {
  const range = document.createRange(), texts = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  let behind = 0, begun = false;
  while (texts.nextNode()) {
    const letters = [...texts.currentNode.data], units = (at) => letters.slice(0, at - behind).join("").length;
    if (!begun && start < behind + letters.length) {
      range.setStart(texts.currentNode, units(start));
      begun = true;
    }
    if (begun && end <= behind + letters.length) {
      range.setEnd(texts.currentNode, units(end));
      return range;
    }
    behind += letters.length;
  }
  return null;
};

const draw = (spans) => {
  if (!window.CSS?.highlights) return;
  const ranges = new Map();
  for (const { start, end, passage, colour } of spans) {
    for (const box of document.querySelectorAll(passage ? `#p${passage} .jb-evidence` : ".jb-answer")) {
      const range = box.offsetParent && rangeIn(box, start, end);
      if (range) ranges.set(colour, [...(ranges.get(colour) || []), range]);
    }
  }
  for (let colour = 0; colour < 6; colour++)
    CSS.highlights.set(`jb-span-${colour}`, new Highlight(...(ranges.get(colour) || [])));
};

let marked = "[]"; // the spans drawn last
let waits = null; // the timer until a new selection is sent; it outlasts a redraw
let sent = null; // the selection sent last, until there is none
let tell = () => {}; // sends the selection
let stop = () => {}; // removes the last call's listeners; every run of the server calls the function below again

/* For keys.js: a press is about what is selected, also before the browser reports that the selection changed. */
window.__judgeboardSelection = () => tell();

export default function ({ data, setStateValue }) {
  stop();
  tell = () => {
    clearTimeout(waits);
    waits = null;
    const selection = document.getSelection();
    if (!selection?.rangeCount || selection.isCollapsed) {
      sent = null;
      return;
    }
    const range = selection.getRangeAt(0), box = evidence(range.startContainer);
    if (!box || place(box) === null) return;
    const whole = document.createRange();
    whole.selectNodeContents(box);
    if (range.compareBoundaryPoints(Range.END_TO_END, whole) > 0) range.setEnd(whole.endContainer, whole.endOffset);
    const before = whole.cloneRange();
    before.setEnd(range.startContainer, range.startOffset);
    const all = whole.toString(), text = range.toString(), words = new Intl.Segmenter([], { granularity: "word" }).segment(all);
    const first = words.containing(before.toString().length + text.length - text.trimStart().length);
    const last = words.containing(before.toString().length + text.trimEnd().length - 1); // whole words
    if (!text.trim()) return;
    const start = points(all.slice(0, first.index)), end = points(all.slice(0, last.index + last.segment.length));
    const selected = `${place(box)}:${start}-${end}`;
    if (selected === sent) return;
    sent = selected;
    setStateValue("selection", { start, end, passage: place(box), at: Date.now() });
  };
  const changed = () => {
    clearTimeout(waits);
    if (document.getSelection().isCollapsed) sent = null;
    waits = setTimeout(() => {
      waits = null; // also if the texts are gone by then, and `tell` sends nothing
      tell();
    }, 200);
  };
  /* The arrow keys select the next or previous word; with Shift they extend the selection by a word. */
  const arrow = (event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input, textarea, [role=radiogroup], [role=tablist], [role=listbox]")) return;
    const selection = document.getSelection(), way = event.key === "ArrowRight" ? "forward" : "backward";
    if (!evidence(selection.focusNode)) {
      const first = [...document.querySelectorAll(data.first)].find((box) => box.offsetParent);
      if (!first) return;
      selection.collapse(first, 0);
    }
    if (event.shiftKey) selection.modify("extend", way, "word");
    else {
      if (way === "forward") selection.collapseToEnd();
      else selection.collapseToStart();
      if (way === "backward") selection.modify("move", "backward", "word");
      selection.modify("extend", "forward", "word");
    }
    event.preventDefault();
  };
  draw(data.spans);
  /* Clear the old selection: a mouse press inside it would drag it instead of selecting an overlapping part. */
  const spans = JSON.stringify(data.spans), selection = document.getSelection();
  if (marked !== spans && waits === null && evidence(selection.focusNode)) {
    selection.collapseToEnd();
    sent = null;
  }
  marked = spans;
  document.addEventListener("selectionchange", changed);
  document.addEventListener("keydown", arrow);
  stop = () => {
    document.removeEventListener("selectionchange", changed);
    document.removeEventListener("keydown", arrow);
  };
  return () => {
    stop();
    tell = () => {};
    draw([]);
  };
}
