/* Shows the whole text of a line, or of a table's cell, on hover if it is cut. Streamlit draws tables on a canvas and tells
   neither the width of a column nor where a cell is: the widths are those of the component that draws the canvas. Without
   them, nothing is shown. The texts are those that screen readers get.

   Also narrows the columns of a table that is wider than its place, so that its last column can be read without
   scrolling: first the columns that are wider than their texts, then those with long texts. */
(() => {
  if (window.__judgeboardCells) return;
  window.__judgeboardCells = true;
  const PADDING = 16; // px at both sides of a text together
  const ROW = 36; // px, as in widgets/tables.py
  const LONG = 150; // px from which a text may be cut
  const LEAST = 90; // px that a column with such texts keeps
  const TITLE = 64; // px that a title keeps, if its texts need less
  const LOOKED_AT = 20; // rows whose texts are measured
  const DRAWN = 50; // looks at whether a width is drawn

  /* The components around a node as they are drawn now, from the inside out: a node may know those of an older drawing. */
  const components = (node) => {
    const key = Object.keys(node).find((name) => name.startsWith("__reactFiber$")), path = [];
    for (let fiber = key ? node[key] : null; fiber; fiber = fiber.return) path.unshift(fiber);
    let parent = path.shift()?.stateNode?.current;
    const current = [];
    for (const fiber of path) {
      let child = parent?.child;
      while (child && child !== fiber && child !== fiber.alternate) child = child.sibling;
      if (child) current.unshift(child);
      parent = child;
    }
    return current;
  };

  /* The properties of the component that draws the canvas; if `named`, of the one around it, which knows the columns by
     their ids, can resize them, and has none for the marks of rows. */
  const gridOf = (canvas, named = false) =>
    components(canvas).map((fiber) => fiber.memoizedProps).find((props) => (
      props?.columns && props.getCellContent && props.headerHeight
      && (!named || (props.onColumnResize && props.columns.every((column) => column.id !== undefined)))
    ));

  /* The column at `x`, and its index. The first columns may be frozen: they do not scroll. */
  const columnAt = (grid, x, scrolled) => {
    let left = 0;
    for (const [index, column] of grid.columns.entries()) {
      const at = index < (grid.freezeColumns || 0) ? x : x + scrolled;
      if (at >= left && at < left + column.width) return { index, column };
      left += column.width;
    }
    return null;
  };

  const cutText = (frame, event) => {
    const canvas = frame.querySelector("canvas[data-testid=data-grid-canvas]"), scroller = frame.querySelector(".dvn-scroller");
    const grid = canvas && scroller && gridOf(canvas);
    if (!grid) return "";
    const box = canvas.getBoundingClientRect(), y = event.clientY - box.top - grid.headerHeight;
    const place = columnAt(grid, event.clientX - box.left, scroller.scrollLeft);
    if (!place) return "";
    const row = Math.floor((y + scroller.scrollTop) / ROW), column = `[aria-colindex="${place.index + 1}"]`;
    const cell = y < 0 ? null : canvas.querySelector(`tr[aria-rowindex="${row + 2}"] ${column}`);
    const text = (y < 0 ? place.column.title : cell?.textContent) || "";
    return canvas.getContext("2d").measureText(text).width > place.column.width - PADDING ? text.trim() : "";
  };

  /* The width below which a column is not narrowed: a number, an interval and other short texts stay whole. */
  const leastWidth = (grid, index, context) => {
    const column = grid.columns[index], widthOf = (text) => Math.ceil(context.measureText(text).width) + PADDING;
    let longest = 0;
    for (let row = 0; row < Math.min(grid.rows, LOOKED_AT); row++) {
      const cell = grid.getCellContent([index, row]), text = cell.displayData ?? cell.data ?? "";
      if (typeof text !== "string") return column.width; // a bar, a check box
      longest = Math.max(longest, widthOf(text));
    }
    return longest > LONG ? LEAST : Math.max(longest, Math.min(widthOf(column.title), TITLE));
  };

  const parts = (frame) => {
    const canvas = frame.querySelector("canvas[data-testid=data-grid-canvas]"), scroller = frame.querySelector(".dvn-scroller");
    const drawn = canvas && scroller && gridOf(canvas), grid = drawn && gridOf(canvas, true);
    return grid && scroller.clientWidth ? { canvas, scroller, drawn, grid } : null;
  };

  const sum = (numbers) => numbers.reduce((all, number) => all + number, 0);
  const fitted = new WeakMap(); // frame -> what its columns are fitted to, and the widths that the page gave them

  /* A column that a person resized stays as it is until the table has another place or other columns. */
  const fit = async (frame) => {
    const { canvas, scroller, drawn, grid } = parts(frame) || {};
    if (!grid) return;
    const marks = sum(drawn.columns.map((column) => column.width)) - sum(grid.columns.map((column) => column.width));
    const place = scroller.clientWidth - Math.max(0, marks), ids = grid.columns.map((column) => column.id);
    const known = fitted.get(frame) || { own: new Map(), narrowed: false }, state = JSON.stringify([place, grid.rows, ids]);
    if (known.state === state) return;
    for (const column of grid.columns) if (!known.own.has(column.id)) known.own.set(column.id, column.width);
    fitted.set(frame, { ...known, state });
    const own = ids.map((id) => known.own.get(id)), surplus = sum(own) - place;
    if (surplus <= 0 && !known.narrowed) return; // the component itself fills a wide place
    let widths = own.map((width) => (width * place) / sum(own));
    if (surplus > 0) {
      fitted.get(frame).narrowed = true;
      const context = canvas.getContext("2d");
      const least = own.map((width, index) => Math.min(width, leastWidth(grid, index, context)));
      const share = Math.min(1, surplus / Math.max(1, sum(own) - sum(least)));
      widths = own.map((width, index) => width - share * (width - least[index]));
    }
    for (const [index, id] of ids.entries()) {
      const width = Math.floor(widths[index]);
      // The component takes one width at a time, so each waits until the one before is drawn.
      for (let tries = 0; tries < DRAWN; tries++) {
        const now = parts(frame)?.grid, column = now?.columns[index];
        if (column?.id !== id || fitted.get(frame).state !== state) return;
        if (column.width === width) break;
        if (tries === 0) now.onColumnResize(column, width, index, width);
        await new Promise((done) => setTimeout(done));
      }
    }
  };

  /* A line that ends with an ellipsis, also if the pointer is over a part of it. */
  const cutLine = (node) => {
    const line = node.closest?.("[class*=jb-]");
    for (let each = line; each && !each.matches("[data-testid]"); each = each.parentElement)
      if (each.scrollWidth > each.clientWidth && getComputedStyle(each).textOverflow === "ellipsis") return each;
    return null;
  };

  document.addEventListener("mousemove", (event) => {
    const line = cutLine(event.target);
    if (line) line.title ||= line.textContent.trim();
    const frame = event.target.closest?.("[data-testid=stDataFrame]");
    if (!frame) return;
    const text = cutText(frame, event);
    if (text) frame.title = text;
    else frame.removeAttribute("title");
  });

  let planned = 0;
  const fitAll = () => {
    clearTimeout(planned);
    planned = setTimeout(() => document.querySelectorAll("[data-testid=stDataFrame]").forEach(fit), 50);
  };
  new MutationObserver(fitAll).observe(document.body, { childList: true, subtree: true });
  window.addEventListener("resize", fitAll);
})();
