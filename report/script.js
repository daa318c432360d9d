
"use strict";
(() => {
  // Tables: a button in each head; a second press turns the order round.
  const units = { ms: 1, s: 1e3, min: 6e4, h: 36e5, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
  const figure = /^[~≤<>±+]?\s*([−-]?[\d,]*\.?\d+)\s*(ms|s|min|h|B|kB|MB|GB|TB|%|tok\/s|tokens?|pooled|turns?|requests?|合并|个请求|个轮次)?\s*\*?$/;
  const text = (row, i) => row.cells[i].textContent.trim();
  const number = (s) => {
    const m = figure.exec(s);
    return m ? Number(m[1].replace(/,/g, "").replace("−", "-")) * (units[m[2]] || 1) : null;
  };
  const sort = (table, i) => {
    const head = table.tHead.rows[0].cells[i], body = table.tBodies[0], rows = [...body.rows];
    const down = head.getAttribute("aria-sort") === "ascending";
    const absent = (s) => s === "—" || s === "";
    const numeric = rows.every((r) => absent(text(r, i)) || number(text(r, i)) !== null);
    const compare = (a, b) => numeric ? number(a) - number(b) : a.localeCompare(b, "en", { numeric: true });
    rows.sort((r, q) => {
      const a = text(r, i), b = text(q, i);
      if (absent(a) || absent(b)) return absent(a) - absent(b);
      return down ? compare(b, a) : compare(a, b);
    });
    for (const h of table.tHead.rows[0].cells) h.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows);
  };
  for (const table of document.querySelectorAll("table[data-sort]")) {
    [...table.tHead.rows[0].cells].forEach((head, i) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, i));
      head.append(button);
    });
  }

  // Charts: the numbers of what is pointed at, or reached with the arrow keys.
  const tip = document.getElementById("tip");
  let on = null;
  const hide = () => {
    if (on) on.classList.remove("on");
    on = null;
    tip.hidden = true;
  };
  const show = (mark) => {
    if (on === mark) return;
    hide();
    on = mark;
    on.classList.add("on");
    tip.textContent = mark.dataset.t;
    tip.hidden = false;
    const at = mark.getBoundingClientRect(), box = tip.getBoundingClientRect(), wide = document.documentElement.clientWidth;
    const left = Math.min(Math.max(4, at.left + at.width / 2 - box.width / 2), wide - box.width - 4);
    const above = at.top - box.height - 8;
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = (above >= 4 ? above : Math.min(at.bottom + 8, innerHeight - box.height - 4)) + "px";
  };
  document.addEventListener("pointerover", (e) => {
    const mark = e.target.closest("[data-t]");
    if (mark) show(mark); else hide();
  });
  addEventListener("scroll", hide, { passive: true, capture: true });
  for (const chart of document.querySelectorAll("svg.plot")) {
    const marks = [...chart.querySelectorAll("[data-t]")];
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (e) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
      if (e.key === "Escape") hide();
      if (!marks.length || !(step || e.key === "Home" || e.key === "End")) return;
      e.preventDefault();
      const last = marks.length - 1, now = marks.indexOf(on);
      const next = e.key === "Home" ? 0 : e.key === "End" ? last : now < 0 ? (step > 0 ? 0 : last) : now + step;
      show(marks[Math.min(Math.max(next, 0), last)]);
    });
  }

  // Closed parts would be missing on paper.
  addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = true; });
})();
