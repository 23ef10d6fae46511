// A cited passage in its document: the page's image with the lines marked, or the text with the passage marked.
const views = new WeakMap();

function drawPage(view) {
  const { data, root } = view;
  const marked = (index) => data.boxes[index - data.index] ?? [];
  const quoted = data.quoted[view.index - data.index] ?? [];
  const labelled = (index) => data.labels[index] ?? index + 1;
  view.label.textContent = filled(data.words.at, { label: labelled(view.index), number: data.count });
  view.back.disabled = view.index <= 0;
  view.on.disabled = view.index >= data.count - 1;
  view.home.hidden = view.index === data.opens;
  view.more.textContent = filled(data.words.continues, { label: labelled(view.index + 1) });
  view.more.hidden = !marked(view.index).length || !marked(view.index + 1).length;
  const sheet = element("div", "sheet");
  const image = new Image();
  image.alt = `${data.name}, ${view.label.textContent}`;
  image.onload = () => {
    sheet.classList.remove("waiting");
    const first = sheet.querySelector(".quoted") || sheet.querySelector("mark");
    if (first) first.scrollIntoView({ block: "center", inline: "nearest" });
  };
  image.onerror = () => { sheet.className = "sheet broken"; sheet.replaceChildren(element("p", "", data.words.broken)); };
  sheet.classList.add("waiting");
  sheet.append(image);
  image.src = data.address.replace("{index}", String(view.index));
  const mark = (name) => ([left, top, width, height]) => {
    const made = element("mark", name);
    made.style.cssText = `left:${left}%;top:${top}%;width:${width}%;height:${height}%`;
    sheet.append(made);
  };
  marked(view.index).forEach(mark(""));
  quoted.forEach(mark("quoted"));
  sheet.classList.toggle("quotes", data.quoted.some((boxes) => boxes.length));
  root.querySelector(".scroll")?.remove();
  const scroll = element("div", "scroll");
  scroll.tabIndex = 0; // a page that is higher than its place is scrolled with the keyboard, too
  scroll.setAttribute("role", "group");
  scroll.setAttribute("aria-label", image.alt);
  scroll.append(sheet);
  root.append(scroll);
  view.jump.value = "";
  zoomBy(view, 1);
  followFingers(view, scroll);
}

// To another page, which the head of the panel names.
function turn(view, index) {
  view.index = index;
  drawPage(view);
  if (view.data.tells) view.send("page", { index, label: view.data.labels[index] ?? String(index + 1) });
}

// Up to four times as wide as its place; the page then scrolls within it.
function zoomBy(view, factor) {
  view.zoom = Math.min(4, Math.max(1, (view.zoom ?? 1) * factor));
  view.root.querySelector(".sheet").style.width = `calc(min(100%, 47rem) * ${view.zoom})`;
  view.smaller.disabled = view.zoom <= 1;
  view.larger.disabled = view.zoom >= 4;
}

function followFingers(view, scroll) {
  scroll.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoomBy(view, Math.exp(-event.deltaY / 300));
  }, { passive: false });
  let apart = 0;
  const distance = ({ touches: [a, b] }) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
  scroll.addEventListener("touchstart", (event) => { if (event.touches.length === 2) apart = distance(event); }, { passive: true });
  scroll.addEventListener("touchmove", (event) => {
    if (event.touches.length !== 2) return;
    event.preventDefault();
    const now = distance(event);
    if (apart) zoomBy(view, now / apart);
    apart = now;
  }, { passive: false });
}

function zoomButtons(view) {
  view.smaller = button("−", "plain", () => zoomBy(view, 0.8), view.data.words.zoom_out);
  view.larger = button("+", "plain", () => zoomBy(view, 1.25), view.data.words.zoom_in);
  return [view.smaller, view.larger];
}

function jumpField(view) {
  const { data } = view;
  view.jump = element("input", "jump");
  view.jump.placeholder = data.words.go_to;
  view.jump.setAttribute("aria-label", data.words.go_to);
  view.jump.hidden = data.count < 3;
  view.jump.onchange = () => {
    const label = view.jump.value.trim();
    const printed = data.labels.indexOf(label);
    const index = printed >= 0 ? printed : Number(label) - 1;
    if (Number.isInteger(index) && index >= 0 && index < data.count) turn(view, index);
  };
  return view.jump;
}

// What the two shades of the marks say.
function legend({ words, kind }) {
  const line = element("p", `legend on-${kind}`);
  line.append(element("i", "quoted"), words.quoted, element("i", "rest"), words.rest);
  return line;
}

// A text with the passage and its quotes marked.
function withMarks(made, pieces) {
  for (const [text, shade] of pieces) {
    if (shade) made.append(element("mark", shade === 2 ? "quoted" : "", text));
    else made.append(text);
  }
  return made;
}

function drawTable(block, words) {
  const table = element("table");
  if (block.columns.length) {
    const row = element("tr");
    for (const name of block.columns) row.append(element("th", "", name));
    const head = element("thead");
    head.append(row);
    table.append(head);
  }
  const body = element("tbody");
  for (const cells of block.rows) {
    const row = element("tr");
    for (const pieces of cells) row.append(withMarks(element("td"), pieces));
    body.append(row);
  }
  table.append(body);
  const scroll = element("div", "wide");
  scroll.tabIndex = 0; // a wide table is scrolled with the keyboard, too
  scroll.append(table);
  const shown = (block.rows[0] ?? []).length;
  if (shown < block.all) scroll.append(element("p", "more-columns", filled(words.columns, { shown, all: block.all })));
  return scroll;
}

function drawBlock(block, words) {
  if (block.kind === "table") return drawTable(block, words);
  const tags = { heading: `h${block.level + 1}`, code: "pre", line: "hr" };
  const made = element(tags[block.kind] ?? "p", block.kind);
  if (block.kind === "line") return made;
  if (block.kind === "item") made.style.setProperty("--level", block.level);
  if (block.kind === "note" && block.mark) made.append(element("b", "", words[block.mark]), " ");
  else if (block.mark) made.append(element("span", "mark", /[-*]/.test(block.mark) ? "•" : block.mark), " ");
  return withMarks(made, block.pieces);
}

function buildCards({ data, root }) {
  const cards = element("div", "cards");
  for (const { label, blocks } of data.cards) {
    const card = element("section", label ? "card slide" : "card");
    if (label) card.append(element("p", "number", filled(data.words.slide, { label })));
    card.append(...blocks.map((block) => drawBlock(block, data.words)));
    cards.append(card);
  }
  const quoted = cards.querySelector("mark.quoted");
  cards.classList.toggle("quotes", Boolean(quoted));
  if (quoted && cards.querySelector("mark:not(.quoted)")) root.append(legend({ words: data.words, kind: "text" }));
  root.append(cards);
  const first = quoted || cards.querySelector("mark");
  if (first) requestAnimationFrame(() => first.scrollIntoView({ block: "center", inline: "nearest" }));
}

function build(view) {
  const { data, root } = view;
  root.replaceChildren();
  if (data.kind === "cards") {
    buildCards(view);
    return;
  }
  if (data.kind === "text") {
    const text = element("div", "text");
    const mark = element("mark");
    for (const [piece, quoted] of data.marked) mark.append(quoted ? element("strong", "quoted", piece) : piece);
    text.append(data.before, mark, data.after);
    if (data.marked.some(([, quoted]) => quoted) && data.marked.some(([, quoted]) => !quoted)) root.append(legend(data));
    root.append(text);
    // Only the nearest scrolling box moves, never the whole page.
    requestAnimationFrame(() => {
      const first = mark.querySelector(".quoted") || mark;
      // What is said above of a passage that stands alone stays in sight.
      if (data.before || first.getBoundingClientRect().bottom > innerHeight) first.scrollIntoView({ block: "center" });
    });
    return;
  }
  const bar = element("div", "bar");
  const move = (by) => {
    turn(view, view.index + by);
    const [pressed, other] = by < 0 ? [view.back, view.on] : [view.on, view.back];
    if (pressed.disabled) other.focus(); // or the keyboard would be nowhere
  };
  view.back = button("‹", "plain", () => move(-1), data.words.previous);
  view.on = button("›", "plain", () => move(1), data.words.next);
  view.label = element("span", "label");
  view.home = button(data.words.back, "link", () => {
    turn(view, data.opens);
    (view.on.disabled ? view.back : view.on).focus();
  });
  view.more = element("span", "more");
  bar.append(view.back, view.label, view.on, jumpField(view), ...zoomButtons(view), view.home, view.more);
  root.append(bar);
  if (data.unmarked) {  // a picture has no lines to mark
    root.append(element("p", "unmarked", data.words.unmarked));
    const read = element("details", "read");
    read.append(element("summary", "", data.words.read), element("p", "", data.unmarked));
    root.append(read);
  }
  if (data.quoted.some((boxes, at) => boxes.length && data.boxes[at].length)) root.append(legend(data));
  view.index = data.at ?? data.opens;
  drawPage(view);
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const signature = JSON.stringify(data);
  const view = views.get(parentElement);
  if (!view || view.signature !== signature) {
    const made = { root, data, signature };
    views.set(parentElement, made);
    build(made);
  }
  views.get(parentElement).send = setTriggerValue;
  return () => views.delete(parentElement);
}
