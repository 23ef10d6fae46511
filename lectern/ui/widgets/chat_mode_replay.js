// A table of answers: a column for each way of answering, a row for each question. What has not changed is not drawn anew, so
// that a growing answer moves nothing else. On a phone one column is shown, chosen by the chips above.
const ICONS = {
  rewritten: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  searched: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14M20 20l-4-4",
  tool: "M14.5 6.5a4 4 0 0 0-5.3 5L4 16.7 7.3 20l5.2-5.2a4 4 0 0 0 5-5.3L15 12l-3-3z",
};
const TALL = 700; // characters of an answer that is shown whole at once
const kept = new WeakMap();

function icon(name) {
  const drawn = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [key, value] of Object.entries({ viewBox: "0 0 24 24", fill: "none", stroke: "currentColor", "stroke-width": "2", "stroke-linecap": "round", "stroke-linejoin": "round", "aria-hidden": "true" })) drawn.setAttribute(key, value);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  drawn.append(path);
  return drawn;
}

// Lists, tables and headings become such, citations links, **words** bold; everything else is text as it is.
function written(into, text, sources) {
  const byNumber = new Map(sources.map((source) => [source.number, source]));
  const inline = (made, line) => { spoken(made, line, byNumber); return made; };
  let open = null, kind = ""; // the list, table or paragraph that the next line may belong to
  const begin = (next, tag) => {
    if (kind !== next) into.append((open = element(tag)));
    kind = next;
    return open;
  };
  for (const line of text.split("\n")) {
    const item = /^\s*(?:[-*•]|(\d{1,3})[.)])\s+(.+)$/.exec(line);
    const heading = /^#{1,6}\s+(.+)$/.exec(line);
    const row = /^\s*\|(.+)\|\s*$/.exec(line);
    if (item) {
      const made = inline(element("li"), item[2]);
      if (item[1]) made.value = Number(item[1]);
      begin(item[1] ? "numbers" : "bullets", item[1] ? "ol" : "ul").append(made);
    } else if (row && /^[\s|:-]+$/.test(row[1])) continue;
    else if (row) {
      const cells = row[1].split("|").map((cell) => inline(element(kind === "rows" ? "td" : "th"), cell.trim()));
      const made = element("tr");
      made.append(...cells);
      begin("rows", "table").append(made);
    } else if (heading) {
      kind = "";
      inline(begin("heading", "p").appendChild(element("strong")), heading[1]);
    } else if (!line.trim()) kind = "";
    else inline(begin("words", "p"), open && kind === "words" && open.hasChildNodes() ? `\n${line}` : line);
  }
}

function spoken(into, text, byNumber) {
  for (const part of text.split(/(\[\d{1,3}(?:\s*[,;]\s*\d{1,3})*\]|\*\*[^*\n]+\*\*)/)) {
    if (/^\*\*.+\*\*$/.test(part)) {
      into.append(element("strong", "", part.slice(2, -2)));
    } else if (/^\[[\d\s,;]+\]$/.test(part)) {
      for (const number of part.match(/\d+/g)) {
        const source = byNumber.get(Number(number));
        if (!source) { into.append(`[${number}]`); continue; }
        const link = element("a", "", number);
        link.href = source.address;
        link.title = source.title;
        link.setAttribute("aria-label", `${number}: ${source.title}`);
        into.append(link);
      }
    } else if (part) into.append(part);
  }
}

function drawCell(td, cell, words, open, again) {
  const box = element("div", "cell");
  if (cell.marks?.length) {
    const marks = element("ul", "marks");
    for (const mark of cell.marks) {
      const item = element("li", mark.on ? "on" : "");
      item.append(icon(mark.icon), mark.text);
      marks.append(item);
    }
    box.append(marks);
  }
  for (const lookup of cell.lookups || []) {
    const line = element("p", "lookup");
    line.append(element("b", "", lookup.what), lookup.text);
    box.append(line);
  }
  if (cell.problem?.length) {
    const problem = element("div", "problem");
    problem.append(element("b", "", cell.problem[0]), cell.problem[1]);
    box.append(problem);
  }
  if (cell.same) box.append(element("p", "same", cell.same));
  if (cell.text) {
    const answer = element("div", "answer");
    written(answer, cell.text, cell.sources);
    box.append(answer);
    if (cell.text.length > TALL && cell.state !== "writing") {
      const more = button("", "more", () => show(answer.classList.contains("cut")));
      const show = (whole) => {
        answer.classList.toggle("cut", !whole);
        more.textContent = whole ? words.less : words.more;
        more.setAttribute("aria-expanded", String(whole));
        whole ? open.add(cell.id) : open.delete(cell.id);
      };
      show(open.has(cell.id));
      box.append(more);
    }
  }
  if (cell.note) box.append(element("p", "note", cell.note));
  if (cell.again) box.append(button(words.again, "plain", again));
  if (cell.facts) {
    const facts = element(cell.calls ? "a" : "div", "facts", cell.facts);
    if (cell.calls) {
      facts.href = cell.calls;
      facts.title = words.calls;
    }
    box.append(facts);
  }
  td.replaceChildren(box);
}

function frame(state, data) {
  state.cells.clear();
  state.root.replaceChildren();
  const chips = element("div", "modes");
  chips.setAttribute("role", "group");
  chips.setAttribute("aria-label", data.words.choose);
  const scroll = element("div", "scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", data.words.table);
  const table = element("table"), head = element("thead"), body = element("tbody"), top = element("tr");
  const choose = (mode) => {
    state.chosen = mode;
    for (const chip of chips.children) chip.setAttribute("aria-pressed", String(chip.dataset.mode === mode));
    for (const cell of table.querySelectorAll("[data-mode]")) cell.classList.toggle("chosen", cell.dataset.mode === mode);
  };
  for (const column of data.columns) {
    const chip = button(column.label, "", () => choose(column.mode));
    chip.dataset.mode = column.mode;
    chips.append(chip);
    const th = element("th");
    th.scope = "col";
    th.dataset.mode = column.mode;
    th.title = column.title;
    top.append(th);
  }
  head.append(top);
  for (const row of data.rows) {
    const said = element("tr", "question"), th = element("th"), answers = element("tr");
    th.colSpan = data.columns.length;
    th.append(element("span", "", row.question));
    said.append(th);
    for (const column of data.columns) {
      const td = element("td");
      td.dataset.mode = column.mode;
      answers.append(td);
    }
    body.append(said, answers);
  }
  table.append(head, body);
  scroll.append(table);
  state.root.append(chips, scroll);
  state.heads = [...top.children];
  state.rows = [...body.querySelectorAll(":scope > tr:not(.question)")];
  choose(data.columns.some((column) => column.mode === state.chosen) ? state.chosen : data.columns[0]?.mode);
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  let state = kept.get(root);
  if (!state) kept.set(root, (state = { root, cells: new Map(), open: new Set(), shape: "", chosen: "" }));
  const shape = JSON.stringify([data.columns.map((column) => [column.mode, column.label]), data.rows.map((row) => row.question)]);
  if (shape !== state.shape) {
    state.shape = shape;
    frame(state, data);
  }
  const draw = (key, place, value, make) => {
    const now = JSON.stringify(value);
    if (state.cells.get(key) === now) return;
    state.cells.set(key, now);
    make(place, value);
  };
  data.columns.forEach((column, at) => {
    draw(`head ${at}`, state.heads[at], column, (th) => {
      const mode = element("div", "mode");
      if (column.state !== "lacks") mode.append(element("i", column.state));
      mode.append(column.label);
      th.classList.toggle("narrow", column.state === "lacks");
      th.replaceChildren(mode, ...(column.state === "lacks" ? [] : [element("div", "facts", column.facts)]));
    });
    data.rows.forEach((row, line) => {
      draw(`${line} ${at}`, state.rows[line].children[at], row.cells[at] || {}, (td, cell) => {
        td.classList.toggle("narrow", column.state === "lacks");
        td.dataset.state = cell.state || "lacks";
        if (column.state === "lacks" && !line) cell = { note: column.facts }; // or the head would be as high as this is long
        drawCell(td, cell, data.words, state.open, () => setTriggerValue("again", { mode: column.mode, at: Date.now() }));
      });
    });
  });
}
