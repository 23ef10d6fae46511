// A stretch of a document. Passages take turns with two colours and carry their number; an overlap is hatched and underlined.
const views = new WeakMap();

function appendText(place, text, search) {
  if (!search) { place.append(text); return; }
  const low = text.toLowerCase(), wanted = search.toLowerCase();
  if (low.length !== text.length) { place.append(text); return; }
  let from = 0;
  for (let at = low.indexOf(wanted); at >= 0; at = low.indexOf(wanted, from)) {
    place.append(text.slice(from, at), element("mark", "", text.slice(at, at + wanted.length)));
    from = at + wanted.length;
  }
  place.append(text.slice(from));
}

function draw(view) {
  const { data, root } = view;
  const { words } = data;
  const legend = element("div", "legend");
  legend.setAttribute("aria-hidden", "true");
  legend.append(element("span", "sample odd", words.legend_passage), element("span", "sample overlap", words.legend_overlap), element("span", "sample gap", words.legend_gap));
  const text = element("div", "text");
  text.tabIndex = 0;
  text.setAttribute("role", "region");
  text.setAttribute("aria-label", words.text);
  const begun = new Set();
  for (const { text: content, numbers } of data.segments) {
    const kind = numbers.length > 1 ? "overlap" : numbers.length ? (numbers[0] % 2 ? "odd" : "even") : "gap";
    for (const number of numbers) {
      if (begun.has(number)) continue;
      begun.add(number);
      if (!data.starts[number]) continue;
      const badge = element("button", "badge", String(number));
      badge.type = "button";
      badge.setAttribute("aria-label", words.passage.replace("{number}", number));
      badge.setAttribute("aria-pressed", String(number === data.chosen));
      badge.dataset.at = String(number);
      badge.onclick = () => view.send("passage", number);
      text.append(badge);
    }
    const last = numbers[numbers.length - 1];
    const piece = element("span", `piece ${kind}${numbers.includes(data.chosen) ? " chosen" : ""}`);
    piece.title = kind === "overlap" ? words.overlap.replace("{numbers}", numbers.join(", ")) : last ? words.passage.replace("{number}", last) : words.gap;
    if (last) piece.onclick = () => { if (!String(getSelection())) view.send("passage", last); };
    appendText(piece, content, data.search);
    text.append(piece);
  }
  root.replaceChildren(legend, text);
  const target = data.search ? text.querySelector("mark") : text.querySelector(".chosen");
  if (data.place !== view.place || data.search !== view.search) {
    view.place = data.place;
    view.search = data.search;
    requestAnimationFrame(() => {
      text.scrollTop = target ? Math.max(0, target.offsetTop - text.clientHeight / 3) : 0;
      if (target) text.scrollIntoView({ block: "nearest" });
    });
  } else if (data.chosen && data.chosen !== view.chosen) {
    const piece = text.querySelector(".chosen");
    requestAnimationFrame(() => {
      const seen = piece.offsetTop >= text.scrollTop && piece.offsetTop < text.scrollTop + text.clientHeight * 0.9;
      if (!seen) text.scrollTop = Math.max(0, piece.offsetTop - text.clientHeight / 3);
    });
  }
  view.chosen = data.chosen;
}

export default function ({ data, parentElement, setTriggerValue }) {
  let view = views.get(parentElement);
  if (!view) {
    view = { root: parentElement.querySelector(".root") };
    views.set(parentElement, view);
  }
  view.send = setTriggerValue;
  view.data = data;
  const signature = JSON.stringify(data);
  if (signature !== view.signature) {
    const kept = view.root.querySelector(".text")?.scrollTop ?? 0;
    const same = view.place === data.place && view.search === data.search;
    view.signature = signature;
    drawAnew(view.root, () => draw(view));
    if (same) view.root.querySelector(".text").scrollTop = kept;
  }
}
