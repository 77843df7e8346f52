/* Shows the whole text of a table's cell on hover if the cell cuts it. Streamlit draws tables on a canvas and tells
   neither the width of a column nor where a cell is: the widths are those of the component that draws the canvas. Without
   them, nothing is shown. The texts are those that screen readers get. */
(() => {
  if (window.__judgeboardCells) return;
  window.__judgeboardCells = true;
  const PADDING = 16; // px at both sides of a text together
  const ROW = 36; // px, as in widgets/tables.py

  const gridOf = (canvas) => {
    const key = Object.keys(canvas).find((name) => name.startsWith("__reactFiber$"));
    for (let fiber = key ? canvas[key] : null; fiber; fiber = fiber.return) {
      const props = fiber.memoizedProps;
      if (props?.columns && props.getCellContent && props.headerHeight) return props;
    }
    return null;
  };

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

  document.addEventListener("mousemove", (event) => {
    const frame = event.target.closest?.("[data-testid=stDataFrame]");
    if (!frame) return;
    const text = cutText(frame, event);
    if (text) frame.title = text;
    else frame.removeAttribute("title");
  });
})();
