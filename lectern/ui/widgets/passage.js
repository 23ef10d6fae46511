// A cited passage in its document: the page's image with the lines marked, or the text with the passage marked.
const views = new WeakMap();

function drawPage(view) {
  const { data, root } = view;
  const marked = (index) => data.boxes[index - data.index] ?? [];
  const quoted = data.quoted[view.index - data.index] ?? [];
  const labelled = (index) => data.labels[index - data.index] ?? index + 1;
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
  root.querySelector(".sheet")?.remove();
  root.append(sheet);
}

function build(view) {
  const { data, root } = view;
  root.replaceChildren();
  if (data.kind === "text") {
    const text = element("div", "text");
    const mark = element("mark");
    for (const [piece, quoted] of data.marked) mark.append(quoted ? element("strong", "quoted", piece) : piece);
    text.append(data.before, mark, data.after);
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
    view.index += by;
    drawPage(view);
    const [pressed, other] = by < 0 ? [view.back, view.on] : [view.on, view.back];
    if (pressed.disabled) other.focus(); // or the keyboard would be nowhere
  };
  view.back = element("button", "plain", "‹");
  view.back.setAttribute("aria-label", data.words.previous);
  view.back.onclick = () => move(-1);
  view.on = element("button", "plain", "›");
  view.on.setAttribute("aria-label", data.words.next);
  view.on.onclick = () => move(1);
  view.label = element("span", "label");
  view.home = element("button", "link", data.words.back);
  view.home.onclick = () => { view.index = data.opens; drawPage(view); (view.on.disabled ? view.back : view.on).focus(); };
  view.more = element("span", "more");
  bar.append(view.back, view.label, view.on, view.home, view.more);
  root.append(bar);
  if (data.unmarked) {  // a picture has no lines to mark
    root.append(element("p", "unmarked", data.words.unmarked));
    const read = element("details", "read");
    read.append(element("summary", "", data.words.read), element("p", "", data.unmarked));
    root.append(read);
  }
  view.index = data.opens;
  drawPage(view);
}

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".root");
  const signature = JSON.stringify(data);
  const view = views.get(parentElement);
  if (!view || view.signature !== signature) {
    const made = { root, data, signature };
    views.set(parentElement, made);
    build(made);
  }
  return () => views.delete(parentElement);
}
