// How an answer was made: a list of its steps, or a tree of its calls; a call that is opened shows its prompt and its reply.
const views = new WeakMap();
const STEP = 82, ROW = 84, NODE = 66, HIGH = 46;

function nodeButton(view, number, className) {
  const made = button("", className, () => view.send("open", { number, at: Date.now() }));
  const open = view.data.opened?.number === number;
  made.dataset.number = number;
  made.setAttribute("aria-expanded", String(open));
  if (open) made.classList.add("open");
  return made;
}

function reply(item) {
  const text = element("div", "said");
  if (item.error) text.append(element("p", "error", item.error));
  if (item.tools?.length) text.append(element("p", "tools", item.tools.join(", ")));
  const words = element("p", "words");
  if (item.changes?.length) {
    words.append(...item.changes.flatMap(([kind, changed]) => marked(kind, changed)));
  } else words.textContent = item.text;
  if (item.text || item.changes?.length) text.append(words);
  return text;
}

function card(view, item) {
  const made = element("li", item.number ? "call" : "step");
  const head = item.number ? nodeButton(view, item.number, "head") : element("div", "head");
  if (item.number) head.append(element("span", "number", item.number));
  const titles = element("span", "titles");
  titles.append(element("span", "title", item.title), element("span", "sub", item.sub));
  head.append(titles);
  if (item.number) {
    const bar = element("span", "bar");
    bar.style.setProperty("--share", `${Math.max(2, 100 * item.share)}%`);
    head.append(bar);
  }
  made.append(head, reply(item));
  return made;
}

function tree(view) {
  const { levels, edges } = view.data.tree;
  const box = element("div", "tree");
  const plane = element("div", "plane");
  const places = new Map();
  let width = 0;
  levels.forEach((level, depth) => {
    let least = 0;
    level.forEach((node) => {
      const below = edges.filter(([, to]) => to === node.number).map(([from]) => places.get(from)?.x).filter((x) => x !== undefined);
      const wanted = below.length ? below.reduce((sum, x) => sum + x, 0) / below.length : least;
      const x = Math.max(wanted, least);
      places.set(node.number, { x, y: (levels.length - 1 - depth) * ROW });
      least = x + STEP;
      width = Math.max(width, x + NODE);
    });
  });
  const height = (levels.length - 1) * ROW + HIGH + 22;
  plane.style.cssText = `width:${width}px;height:${height}px`;
  const lines = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  lines.setAttribute("width", width);
  lines.setAttribute("height", height);
  lines.setAttribute("aria-hidden", "true");
  for (const [from, to] of edges) {
    const a = places.get(from), b = places.get(to);
    if (!a || !b) continue;
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    const x1 = a.x + NODE / 2, x2 = b.x + NODE / 2, y1 = a.y, y2 = b.y + HIGH, middle = (y1 + y2) / 2;
    line.setAttribute("d", `M${x1} ${y1} C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`);
    lines.append(line);
  }
  plane.append(lines);
  for (const level of levels) for (const node of level) {
    const place = places.get(node.number);
    const made = nodeButton(view, node.number, "node");
    made.style.cssText = `left:${place.x}px;top:${place.y}px;width:${NODE}px;height:${HIGH}px`;
    made.setAttribute("aria-label", `${node.number}. ${node.label}`);
    made.title = node.label;
    if (node.error) made.classList.add("failed");
    made.append(element("span", "number", node.number), element("span", "time", node.time));
    plane.append(made);
    if (node.passages) {
      const below = element("span", "below", node.passages);
      below.style.cssText = `left:${place.x - 8}px;top:${place.y + HIGH + 2}px;width:${NODE + 16}px`;
      plane.append(below);
    }
  }
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", view.data.words.tree);
  box.append(plane);
  return box;
}

function details(view) {
  const { opened, origins, words } = view.data;
  const made = element("section", "details");
  made.setAttribute("aria-label", `${words.prompt} ${opened.number}`);
  made.append(element("p", "figures", opened.figures));
  if (opened.error) made.append(element("p", "error", opened.error));
  made.append(element("h4", "", words.prompt));
  const used = new Set(opened.messages.flatMap((message) => message.parts.filter(([, text]) => text.trim()).map(([origin]) => origin)));
  const legend = element("ul", "legend");
  for (const [origin, name] of Object.entries(origins)) if (used.has(origin)) legend.append(element("li", `tag ${origin}`, name));
  made.append(legend);
  const prompt = element("div", "prompt");
  prompt.tabIndex = 0;
  prompt.setAttribute("role", "group");
  prompt.setAttribute("aria-label", words.prompt);
  for (const message of opened.messages) {
    prompt.append(element("p", "role", message.role));
    for (const [origin, text] of message.parts) {
      if (!text.trim()) continue;
      const part = element("div", `part ${origin}`);
      part.append(element("span", "tag", origins[origin] ?? origin), element("span", "text", text.trim()));
      prompt.append(part);
    }
  }
  made.append(prompt, element("h4", "", words.reply));
  const said = element("div", "reply", opened.reply || "—");
  said.tabIndex = 0;
  said.setAttribute("role", "group");
  said.setAttribute("aria-label", words.reply);
  made.append(said);
  if (opened.tools.length) made.append(element("p", "tools", `${words.asks} ${opened.tools.join(", ")}`));
  return made;
}

function draw(view) {
  const { data, root } = view;
  const focused = root.getRootNode().activeElement?.dataset?.number;
  const list = element("ol", "list");
  let treeDrawn = false;
  for (const item of data.items) {
    if (item.head) { list.append(element("li", "group", item.head)); continue; }
    if (item.note) { list.append(element("li", "note", item.note)); continue; }
    if (item.inTree) {
      if (!treeDrawn) {
        const place = element("li", "call");
        place.append(tree(view));
        const open = data.items.find((one) => one.inTree && one.number === data.opened?.number);
        if (open) { place.append(element("p", "which", `${open.number}. ${open.title} · ${open.sub}`), details(view)); }
        list.append(place);
        treeDrawn = true;
      }
      continue;
    }
    const made = card(view, item);
    if (item.number && item.number === data.opened?.number) { made.querySelector(".said")?.remove(); made.append(details(view)); }
    list.append(made);
  }
  root.replaceChildren(list);
  if (focused) root.querySelector(`button[data-number="${focused}"]`)?.focus({ preventScroll: true });
  const shown = root.querySelector(".details");
  if (shown && data.opened.number !== view.shown) requestAnimationFrame(() => {
    const call = shown.closest("li");
    call.scrollIntoView({ block: call.offsetHeight > innerHeight / 2 ? "start" : "nearest" }); // of a long one, its head
  });
  view.shown = data.opened?.number;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const signature = JSON.stringify(data);
  const view = views.get(parentElement) ?? { root: parentElement.querySelector(".root") };
  view.send = setTriggerValue;
  if (view.signature !== signature) {
    Object.assign(view, { data, signature });
    draw(view);
  }
  views.set(parentElement, view);
  return () => views.delete(parentElement);
}
