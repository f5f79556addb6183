"use strict";
// Adds to a report that is complete without it: details on hover and focus, arrow keys, zoom, sorting.
(() => {
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const tip = document.getElementById("tip");
  const charts = all(".chart");
  const rowOf = (bar) => document.getElementById(bar.getAttribute("href").slice(1));
  const headsOf = (table) => Array.from(table.tHead.rows[table.tHead.rows.length - 1].cells);

  // --- Details: the row of the table of jobs, beside the bar ---------------------------------------
  let shown = null;
  let shownAt;
  let leaving = 0;

  function element(name, text) {
    const made = document.createElement(name);
    made.textContent = text;
    return made;
  }

  function show(bar, x) {
    clearTimeout(leaving);
    shownAt = x;
    if (bar !== shown) {
      shown = bar;
      const row = rowOf(bar);
      const heads = headsOf(row.closest("table"));
      const list = document.createElement("dl");
      Array.from(row.cells).slice(1).forEach((cell, i) => {
        const value = element("dd", cell.textContent);
        if (cell.querySelector(".warn")) value.className = "warn";
        list.append(element("dt", heads[i + 1].textContent), value);
      });
      tip.replaceChildren(element("strong", row.cells[0].textContent), list);
      tip.hidden = false;
    }
    place(bar, x);
  }

  function place(bar, x) {
    const box = bar.querySelector("rect").getBoundingClientRect();
    const view = bar.closest(".chart").getBoundingClientRect();
    const left = x ?? Math.max(box.left, view.left + 110);
    const below = box.bottom + 6;
    const fits = below + tip.offsetHeight <= innerHeight;
    const top = fits ? below : Math.max(4, box.top - 6 - tip.offsetHeight);
    tip.style.left = `${Math.max(4, Math.min(left, document.documentElement.clientWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${top}px`;
  }

  function hide() {
    clearTimeout(leaving);
    shown = null;
    tip.hidden = true;
  }

  // The pointer may travel from the bar onto its details.
  function hideSoon() {
    clearTimeout(leaving);
    leaving = setTimeout(hide, 200);
  }

  tip.addEventListener("pointerenter", () => clearTimeout(leaving));
  tip.addEventListener("pointerleave", hideSoon);
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("resize", hide);
  addEventListener("scroll", () => {
    if (!shown) return;
    if (shown === document.activeElement || shown.matches(":hover")) place(shown, shownAt);
    else hide();
  }, true);

  // --- Charts: one stop for Tab each, arrow keys inside --------------------------------------------
  function lanesOf(bars) {
    const lanes = [];
    let last = null;
    for (const bar of bars) {
      const y = bar.firstElementChild.getAttribute("y");
      if (y !== last) lanes.push([]);
      last = y;
      lanes[lanes.length - 1].push(bar);
    }
    return lanes;
  }

  const startOf = (bar) => parseFloat(bar.firstElementChild.getAttribute("x"));
  // The bar of a lane that runs when another one starts, or else its first.
  const besides = (lane, start) => lane.findLast((bar) => startOf(bar) <= start + 1e-6) ?? lane[0];

  function target(key, lanes, lane, i, bar) {
    switch (key) {
      case "ArrowRight": return lanes[lane][i + 1];
      case "ArrowLeft": return lanes[lane][i - 1];
      case "ArrowDown": return lanes[lane + 1] && besides(lanes[lane + 1], startOf(bar));
      case "ArrowUp": return lanes[lane - 1] && besides(lanes[lane - 1], startOf(bar));
      case "Home": return lanes[lane][0];
      case "End": return lanes[lane][lanes[lane].length - 1];
      default: return null;
    }
  }

  for (const chart of charts) {
    const bars = all("a.bar", chart);
    const lanes = lanesOf(bars);
    const at = new Map();
    lanes.forEach((lane, n) => lane.forEach((bar, i) => at.set(bar, [n, i])));
    for (const bar of bars) {
      // The browser would show a title beside the details.
      const title = bar.querySelector("title");
      bar.setAttribute("aria-label", title.textContent);
      title.remove();
      bar.setAttribute("tabindex", bar === bars[0] ? "0" : "-1");
    }
    let current = bars[0];
    const ring = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    ring.setAttribute("class", "ring");
    ring.setAttribute("visibility", "hidden");
    chart.querySelector(".plot").append(ring);
    chart.classList.add("with-ring");
    const barOf = (event) => event.target.closest("a.bar");
    chart.addEventListener("pointerover", (event) => {
      const bar = barOf(event);
      if (bar) show(bar, event.clientX + 8);
    });
    chart.addEventListener("pointerout", (event) => { if (barOf(event)) hideSoon(); });
    chart.addEventListener("focusin", (event) => {
      const bar = barOf(event);
      if (!bar) return;
      current.setAttribute("tabindex", "-1");
      current = bar;
      bar.setAttribute("tabindex", "0");
      for (const name of ["x", "y", "width", "height"]) {
        ring.setAttribute(name, bar.firstElementChild.getAttribute(name));
      }
      ring.setAttribute("visibility", "visible");
      show(bar);
    });
    chart.addEventListener("focusout", () => {
      ring.setAttribute("visibility", "hidden");
      hide();
    });
    chart.addEventListener("click", (event) => {
      // A finger has no hover: it asks for the details, not for the row.
      if (barOf(event) && event.pointerType === "touch") event.preventDefault();
    });
    chart.addEventListener("keydown", (event) => {
      const bar = barOf(event);
      if (!bar || event.ctrlKey || event.altKey || event.metaKey) return;
      const next = target(event.key, lanes, ...at.get(bar), bar);
      if (next === null) return;
      event.preventDefault();
      if (next) next.focus();
    });
    chart.addEventListener("scroll", () => {
      for (const each of charts) if (each !== chart) each.scrollLeft = chart.scrollLeft;
    });
  }

  // --- Zoom: all charts keep one scale -------------------------------------------------------------
  let zoom = 1;
  const buttons = all("[data-zoom]");

  function zoomTo(wanted) {
    const middles = charts.map((chart) => (chart.scrollLeft + chart.clientWidth / 2) / chart.scrollWidth);
    charts.forEach((chart) => chart.classList.remove(`x${zoom}`));
    zoom = Math.min(32, Math.max(1, wanted));
    charts.forEach((chart, i) => {
      chart.classList.add(`x${zoom}`);
      chart.scrollLeft = middles[i] * chart.scrollWidth - chart.clientWidth / 2;
    });
    for (const button of buttons) {
      button.disabled = button.dataset.zoom === "in" ? zoom === 32 : zoom === 1;
    }
  }

  const steps = { in: () => zoom * 2, out: () => zoom / 2, fit: () => 1 };
  for (const button of buttons) {
    button.addEventListener("click", () => zoomTo(steps[button.dataset.zoom]()));
  }
  if (charts.length) zoomTo(1);
  all(".tools, .hint").forEach((each) => { each.hidden = false; });

  // --- Tables: a click on a header sorts -----------------------------------------------------------
  const collator = new Intl.Collator("en", { numeric: true });

  function comparison(column, isNumber) {
    if (!isNumber) return (a, b) => collator.compare(a.cells[column].textContent, b.cells[column].textContent);
    return (a, b) => Number(a.cells[column].dataset.key) - Number(b.cells[column].dataset.key);
  }

  function sort(table, head) {
    const heads = headsOf(table);
    const column = heads.indexOf(head);
    const isNumber = head.classList.contains("n");
    const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const compare = comparison(column, isNumber);
    // What is not known stays at the end, whichever way the rest is sorted.
    const isUnknown = (row) => isNumber && row.cells[column].dataset.key === "";
    const rows = Array.from(table.tBodies[0].rows);
    const known = rows.filter((row) => !isUnknown(row)).sort((a, b) => sign * compare(a, b));
    heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    table.tBodies[0].append(...known, ...rows.filter(isUnknown));
  }

  for (const table of all("table.sortable")) {
    for (const head of headsOf(table)) {
      const button = element("button", head.textContent);
      button.type = "button";
      button.addEventListener("click", () => sort(table, head));
      head.replaceChildren(button);
    }
  }
})();
