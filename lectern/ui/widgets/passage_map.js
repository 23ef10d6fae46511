// The map of all passages. Points are written straight into an image, which is quick without a graphics card too; the point
// under the pointer is looked up in a grid.
const maps = new WeakMap();
const COLOURS = ["#0b7a6c", "#c4622d", "#5b64c9", "#b8892b", "#a43f73", "#4d8f3a", "#2f86b5", "#8a5a3c", "#7d5bb0", "#c24b4b"];
const OTHERS = "#9a948a";
const CELLS = 256; // a side of the grid
const REACH = 9; // pixels around the pointer
const BADGE = 9; // radius of a hit's number
const AWAY = [19, 36, 53, 70]; // where numbers are tried, from their points,
const TURNS = Array.from({ length: 12 }, (_, turn) => -Math.PI / 4 + (turn * Math.PI) / 6); // and in which directions

const packed = (hex) => (255 << 24) | (parseInt(hex.slice(5, 7), 16) << 16) | (parseInt(hex.slice(3, 5), 16) << 8) | parseInt(hex.slice(1, 3), 16);

function grid(points, count) {
  const of = new Int32Array(count);
  const starts = new Int32Array(CELLS * CELLS + 1);
  const cell = (value) => Math.min(CELLS - 1, Math.max(0, ((value + 1) / 2 * CELLS) | 0));
  for (let i = 0; i < count; i++) {
    of[i] = cell(points[2 * i + 1]) * CELLS + cell(points[2 * i]);
    starts[of[i] + 1]++;
  }
  for (let c = 0; c < CELLS * CELLS; c++) starts[c + 1] += starts[c];
  const next = starts.slice();
  const items = new Int32Array(count);
  for (let i = 0; i < count; i++) items[next[of[i]]++] = i;
  return { starts, items, cell };
}

async function load(map) {
  const address = map.data.address;
  const answer = await fetch(address);
  if (!answer.ok) throw new Error("map");
  const body = await answer.arrayBuffer();
  if (address !== map.data.address) return;
  const count = new DataView(body).getUint32(0, true);
  map.points = new Float32Array(body, 4, 2 * count);
  map.owners = new Uint32Array(body, 4 + 8 * count, count);
  map.count = count;
  map.grid = grid(map.points, count);
  map.texts = new Map();
  map.root.dataset.points = String(count);
}

// From the map to pixels: x = (px * scale) + dx.
function fit(map) {
  const side = Math.min(map.width, map.height) * 0.47;
  map.scale = side;
  map.dx = map.width / 2;
  map.dy = map.height / 2;
}

function resize(map) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const box = map.canvas.getBoundingClientRect();
  const width = Math.max(1, Math.round(box.width * ratio));
  const height = Math.max(1, Math.round(box.height * ratio));
  if (map.ratio === ratio && width === map.width && height === map.height) return;
  const first = !map.width;
  Object.assign(map, { ratio, width, height });
  map.canvas.width = width;
  map.canvas.height = height;
  map.context = map.canvas.getContext("2d");
  map.image = map.context.createImageData(width, height);
  map.pixels = new Uint32Array(map.image.data.buffer);
  if (first || !map.moved) fit(map);
  later(map);
}

function disc(radius, width) {
  const offsets = [];
  const whole = Math.ceil(radius);
  for (let y = -whole; y <= whole; y++) for (let x = -whole; x <= whole; x++) if (x * x + y * y <= radius * radius + 0.2) offsets.push(y * width + x);
  return Int32Array.from(offsets);
}

function draw(map) {
  const began = performance.now();
  map.waiting = false;
  if (!map.points || !map.pixels) return;
  inks(map);
  const { pixels, points, owners, width, height, scale, dx, dy, colours, count } = map;
  pixels.fill(0);
  const closeness = scale / (Math.min(width, height) * 0.47);
  const radius = Math.min(4.5, (count > 30000 ? 0.8 : count > 3000 ? 1.3 : 2.4) * Math.sqrt(closeness)) * map.ratio;
  const stamp = disc(radius, width);
  const edge = Math.ceil(radius) + 1;
  for (let pass = map.only === null ? 1 : 0; pass < 2; pass++) {
    for (let i = 0; i < count; i++) {
      const chosen = map.only === null || (map.only < 0 ? !map.own.has(owners[i]) : owners[i] === map.only);
      if (map.only !== null && chosen !== (pass === 1)) continue;
      const x = (points[2 * i] * scale + dx) | 0;
      const y = (points[2 * i + 1] * scale + dy) | 0;
      if (x < edge || y < edge || x >= width - edge || y >= height - edge) continue;
      const colour = chosen ? colours[owners[i]] : map.faint;
      const at = y * width + x;
      for (let s = 0; s < stamp.length; s++) pixels[at + stamp[s]] = colour;
    }
  }
  const context = map.context;
  context.putImageData(map.image, 0, 0);
  context.lineWidth = 2.2 * map.ratio;
  context.strokeStyle = context.fillStyle = map.ink;
  for (const row of map.data.hits) ring(context, points[2 * row] * scale + dx, points[2 * row + 1] * scale + dy, 7 * map.ratio);
  numbers(map);
  if (map.hover >= 0) ring(context, points[2 * map.hover] * scale + dx, points[2 * map.hover + 1] * scale + dy, 5 * map.ratio);
  map.root.dataset.drawn = (performance.now() - began).toFixed(1);
}

// Each hit's number beside its point, where no other number or hit is, so that hits that lie on each other can be told apart.
function numbered(map) {
  const { points, scale, dx, dy, ratio, width, height } = map;
  const radius = BADGE * ratio;
  const spots = map.data.hits.map((row, place) => ({ row, number: place + 1, px: points[2 * row] * scale + dx, py: points[2 * row + 1] * scale + dy }));
  const placed = [];
  const room = ({ x, y }) => Math.min( // pixels that it has around it; less than 0: it covers something
    Math.min(x, y, width - x, height - y) - radius,
    ...placed.map((other) => Math.hypot(other.x - x, other.y - y) - 2.2 * radius),
    ...spots.map((hit) => Math.hypot(hit.px - x, hit.py - y) - 1.6 * radius),
  );
  for (const spot of spots.slice(0, map.data.numbered)) {
    if (spot.px < 0 || spot.py < 0 || spot.px > width || spot.py > height) continue;
    const tried = AWAY.flatMap((away) => TURNS.map((turn) => ({ ...spot, x: spot.px + away * ratio * Math.cos(turn), y: spot.py + away * ratio * Math.sin(turn) })));
    placed.push(tried.find((one) => room(one) >= 0) || tried[0]);
  }
  return placed;
}

function numbers(map) {
  const { context, ratio } = map;
  map.badges = numbered(map);
  context.font = `600 ${11 * ratio}px ${getComputedStyle(map.root).fontFamily}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = ratio;
  for (const { x, y, px, py } of map.badges) line(context, px, py, x, y);
  for (const { x, y, number } of map.badges) {
    context.fillStyle = map.ink;
    context.beginPath();
    context.arc(x, y, BADGE * ratio, 0, 2 * Math.PI);
    context.fill();
    context.fillStyle = map.paper;
    context.fillText(String(number), x, y + 0.5 * ratio);
  }
  context.lineWidth = 2.2 * ratio;
  map.root.dataset.numbers = map.badges.map(({ x, y }) => `${x / ratio},${y / ratio}`).join(" ");
}

function line(context, fromX, fromY, toX, toY) {
  context.beginPath();
  context.moveTo(fromX, fromY);
  context.lineTo(toX, toY);
  context.stroke();
}

function ring(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
}

function later(map) {
  if (map.waiting) return;
  map.waiting = true;
  requestAnimationFrame(() => draw(map));
}

function under(map, event) {
  if (!map.points) return -1;
  const box = map.canvas.getBoundingClientRect();
  const px = (event.clientX - box.left) * map.ratio, py = (event.clientY - box.top) * map.ratio;
  const named = (map.badges || []).find((one) => Math.hypot(one.x - px, one.y - py) <= BADGE * map.ratio);
  if (named) return named.row;
  const x = (px - map.dx) / map.scale, y = (py - map.dy) / map.scale;
  const reach = (REACH * map.ratio) / map.scale;
  const { starts, items, cell } = map.grid;
  let best = -1, least = reach * reach;
  for (let row = cell(y - reach); row <= cell(y + reach); row++) {
    for (let column = cell(x - reach); column <= cell(x + reach); column++) {
      const at = row * CELLS + column;
      for (let k = starts[at]; k < starts[at + 1]; k++) {
        const i = items[k];
        const gone = (map.points[2 * i] - x) ** 2 + (map.points[2 * i + 1] - y) ** 2;
        if (gone < least) { least = gone; best = i; }
      }
    }
  }
  return best;
}

function zoom(map, factor, x, y) {
  const least = Math.min(map.width, map.height) * 0.2;
  const scale = Math.min(Math.max(map.scale * factor, least), least * 2000);
  map.dx = x - ((x - map.dx) * scale) / map.scale;
  map.dy = y - ((y - map.dy) * scale) / map.scale;
  map.scale = scale;
  map.moved = true;
  later(map);
}

async function tell(map, row, x, y) {
  map.tip.hidden = row < 0;
  if (row < 0) return;
  const box = map.canvas.getBoundingClientRect();
  map.tip.style.left = `${x < box.width / 2 ? x + 14 : Math.max(4, x - 14 - Math.min(320, box.width * 0.8))}px`;
  map.tip.style.top = y < box.height / 2 ? `${y + 12}px` : "";
  map.tip.style.bottom = y < box.height / 2 ? "" : `${box.height - y + 12}px`;
  let said = map.texts.get(row);
  if (!said) {
    map.tip.hidden = true;
    await new Promise((done) => setTimeout(done, 60)); // a pointer that passes by asks for nothing
    if (map.hover !== row) return;
    const [path, query] = map.data.address.split("?");
    try {
      const answer = await fetch(`${path}/${row}?${query}`);
      said = answer.ok ? await answer.json() : { name: "", page: "", text: map.data.words.gone };
    } catch {
      return;
    }
    map.texts.set(row, said);
    if (map.hover !== row) return;
    map.tip.hidden = false;
  }
  const places = map.data.words.places;
  const place = places[said.page_word] ?? places.part;
  const page = said.page ? ` · ${place.replace("{label}", () => said.page)}` : "";
  map.tip.replaceChildren(element("b", "", said.name + page), element("span", "", said.text));
}

function listen(map) {
  const { canvas } = map;
  const held = new Map();
  let from = null;
  let far = 0;
  canvas.onpointerdown = (event) => {
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (held.size === 1) { from = { x: event.clientX, y: event.clientY }; far = 0; }
  };
  canvas.onpointermove = (event) => {
    const before = held.get(event.pointerId);
    if (!before) {
      const row = under(map, event);
      if (row !== map.hover) {
        map.hover = row;
        const box = canvas.getBoundingClientRect();
        canvas.style.cursor = row >= 0 ? "pointer" : "";
        tell(map, row, event.clientX - box.left, event.clientY - box.top);
        later(map);
      }
      return;
    }
    const now = { x: event.clientX, y: event.clientY };
    far += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (held.size === 2) {
      const other = [...held].find(([id]) => id !== event.pointerId)[1];
      const was = Math.hypot(before.x - other.x, before.y - other.y), is = Math.hypot(now.x - other.x, now.y - other.y);
      const box = canvas.getBoundingClientRect();
      if (was) zoom(map, is / was, ((now.x + other.x) / 2 - box.left) * map.ratio, ((now.y + other.y) / 2 - box.top) * map.ratio);
    } else {
      map.dx += (now.x - before.x) * map.ratio;
      map.dy += (now.y - before.y) * map.ratio;
      map.moved = true;
      later(map);
    }
    held.set(event.pointerId, now);
  };
  const release = (event) => {
    held.delete(event.pointerId);
    if (event.type === "pointerup" && from && far < 5) {
      const row = under(map, event);
      if (row >= 0) map.send("open", { row, at: Date.now() });
    }
  };
  canvas.onpointerup = release;
  canvas.onpointercancel = release;
  canvas.onpointerleave = () => { map.hover = -1; map.tip.hidden = true; later(map); };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(map, Math.exp(-event.deltaY * 0.0016), (event.clientX - box.left) * map.ratio, (event.clientY - box.top) * map.ratio);
  }, { passive: false });
  const step = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  canvas.onkeydown = (event) => {
    if (event.key === "+" || event.key === "=") zoom(map, 1.3, map.width / 2, map.height / 2);
    else if (event.key === "-") zoom(map, 1 / 1.3, map.width / 2, map.height / 2);
    else if (step[event.key]) {
      map.dx += step[event.key][0] * map.width * 0.08;
      map.dy += step[event.key][1] * map.width * 0.08;
      map.moved = true;
      later(map);
    } else return;
    event.preventDefault();
  };
}

function build(map) {
  const { data, root } = map;
  root.replaceChildren();
  const frame = element("div", "frame");
  map.canvas = element("canvas");
  map.canvas.tabIndex = 0;
  map.canvas.setAttribute("role", "img");
  map.canvas.setAttribute("aria-label", data.words.canvas);
  map.tip = element("div", "tip");
  map.tip.hidden = true;
  const tools = element("div", "tools");
  const middle = (factor) => () => zoom(map, factor, map.width / 2, map.height / 2);
  tools.append(
    button("+", "", middle(1.5), data.words.closer),
    button("−", "", middle(1 / 1.5), data.words.farther),
    button(data.words.whole, "", () => { map.moved = false; fit(map); later(map); }),
  );
  frame.append(map.canvas, tools, map.tip);
  map.asked = element("div", "asked");
  map.legend = element("div", "legend");
  root.append(frame, map.legend, map.asked);
  Object.assign(map, { hover: -1, only: null, width: 0 });
  listen(map);
  map.observer = new ResizeObserver(() => resize(map));
  map.observer.observe(map.canvas);
}

function legend(map) {
  const { data } = map;
  map.own = new Set(data.files.map((file) => file.number));
  const most = Math.max(0, ...data.files.map((file) => file.number));
  map.legend.replaceChildren();
  const entry = (colour, name, passages, number) => {
    const one = button("", "", () => { map.only = map.only === number ? null : number; marks(); later(map); });
    const dot = element("i");
    dot.style.background = colour;
    one.append(dot, element("span", "", name), element("small", "", passages));
    one.dataset.number = String(number);
    map.legend.append(one);
  };
  const marks = () => { for (const one of map.legend.children) one.setAttribute("aria-pressed", String(map.only === Number(one.dataset.number))); };
  data.files.forEach((file, place) => entry(COLOURS[place], file.name, file.passages, file.number));
  const owners = map.owners || [];
  const highest = owners.reduce((one, other) => Math.max(one, other), most);
  map.colours = new Uint32Array(highest + 1).fill(packed(OTHERS) >>> 0);
  data.files.forEach((file, place) => { map.colours[file.number] = packed(COLOURS[place]) >>> 0; });
  if (owners.some((owner) => !map.own.has(owner))) entry(OTHERS, data.words.others, "", -1);
  marks();
  map.asked.textContent = data.words.hits;
  map.asked.hidden = !data.words.hits;
}

// The colours of rings and numbers, and of what stands back, as light or dark as the page is now: its own colour of text is
// there a moment later.
function inks(map) {
  const dark = getComputedStyle(map.root).colorScheme === "dark";
  map.ink = dark ? "#ece8e1" : "#14120f";
  map.paper = dark ? "#1b1a18" : "#ffffff";
  map.faint = packed(dark ? "#3a3734" : "#e4dfd5") >>> 0;
}

export default function ({ data, parentElement, setTriggerValue }) {
  let map = maps.get(parentElement);
  if (!map) {
    map = { root: parentElement.querySelector(".root") };
    map.data = data;
    maps.set(parentElement, map);
    build(map);
  }
  map.send = setTriggerValue;
  const other = map.fetched !== data.address;
  map.data = data;
  map.root.dataset.hits = String(data.hits.length);
  if (other) {
    map.fetched = data.address;
    load(map).then(() => { legend(map); resize(map); later(map); }).catch(() => { map.legend.textContent = data.words.lost; map.fetched = ""; });
  } else if (map.points) {
    legend(map);
    later(map);
  }
  return () => { map.observer.disconnect(); maps.delete(parentElement); };
}
