"use strict";
// The page can be read without this: it sorts tables, and moves about in figures.

// What a cell sorts by: its number, else its text. Cells without a number come last.
function sortKey(row, column, numeric) {
  const text = row.cells[column].textContent;
  if (!numeric) return text;
  const number = parseFloat(text.replace(/[±≥]/, ""));
  return Number.isNaN(number) ? null : number;
}

function sortBy(table, column) {
  const body = table.tBodies[0], heads = table.tHead.rows[0].cells, head = heads[column];
  const numeric = !head.classList.contains("text");
  const before = head.getAttribute("aria-sort");
  const falls = before ? before === "ascending" : numeric && column > 0;
  const rows = Array.from(body.rows, (row) => [sortKey(row, column, numeric), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    const order = numeric ? a - b : a.localeCompare(b, "en", { numeric: true });
    return falls ? -order : order;
  });
  for (const other of heads) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falls ? "descending" : "ascending");
  body.remove();
  body.append(...rows.map(([, row]) => row));
  table.append(body);
}

for (const table of document.querySelectorAll("table.points"))
  Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    button.addEventListener("click", () => sortBy(table, column));
    head.replaceChildren(button);
  });

// A long table shows its first thousand rows, in whatever order, until all are asked for.
for (const table of document.querySelectorAll("table.many")) {
  const button = document.createElement("button"), count = table.tBodies[0].rows.length;
  button.className = "more screen";
  button.textContent = `Show all ${count.toLocaleString("en")} points`;
  button.addEventListener("click", () => {
    table.classList.add("all");
    button.remove();
  });
  table.parentElement.after(button);
}

// A figure that has the focus takes the wheel; any other one scrolls with the page.
for (const picture of document.querySelectorAll(".picture")) {
  const svg = picture.querySelector("svg");
  if (!svg) continue;
  const whole = svg.getAttribute("viewBox").split(/[\s,]+/).map(Number);
  let view = whole, drag = null;
  const show = (next) => {
    view = next;
    svg.setAttribute("viewBox", next.join(" "));
  };
  picture.addEventListener("wheel", (event) => {
    if (document.activeElement !== picture) return;
    event.preventDefault();
    const [x, y, width, height] = view, box = svg.getBoundingClientRect();
    const factor = Math.min(whole[2] / width, Math.max(whole[2] / width / 40, 1.002 ** event.deltaY));
    const across = (event.clientX - box.left) / box.width;
    const down = (event.clientY - box.top) / box.height;
    show(width * factor >= whole[2] * 0.999 ? whole : [x + across * width * (1 - factor),
      y + down * height * (1 - factor), width * factor, height * factor]);
  }, { passive: false });
  picture.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, y: event.clientY, view };
    picture.setPointerCapture(event.pointerId);
  });
  picture.addEventListener("pointermove", (event) => {
    if (!drag || view === whole) return;
    const scale = view[2] / svg.getBoundingClientRect().width;
    show([drag.view[0] - (event.clientX - drag.x) * scale,
      drag.view[1] - (event.clientY - drag.y) * scale, view[2], view[3]]);
  });
  for (const end of ["pointerup", "pointercancel"])
    picture.addEventListener(end, () => { drag = null; });
  picture.addEventListener("dblclick", () => show(whole));
}
