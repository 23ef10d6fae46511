// Drop files or folders, or choose them; each goes straight to the disk of this computer, four at a time.
const zones = new WeakMap();
const AT_ONCE = 4;

const PACKAGES = ["node_modules", "bower_components", "site-packages", "__pycache__"];

// The files in what was dropped, each with its place below it; `over` gets the places that are passed over.
async function filesOf(entry, over) {
  if (entry.isFile) {
    const file = await new Promise((done, failed) => entry.file(done, failed));
    file.place = entry.fullPath.slice(1);
    return [file];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const batch = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!batch.length) break;
    for (const child of batch) {
      if (child.name === ".DS_Store") continue;
      if (child.name.startsWith(".") || (child.isDirectory && PACKAGES.includes(child.name))) over.push(child.fullPath.slice(1));
      else found.push(...(await filesOf(child, over)));
    }
  }
  return found;
}

async function dropped(transfer, over) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry && item.webkitGetAsEntry()).filter(Boolean);
  if (!entries.length) return [...transfer.files];
  return (await Promise.all(entries.map((entry) => filesOf(entry, over)))).flat();
}

function size(bytes, language) {
  const [count, unit] = bytes < 1e6 ? [Math.max(1, Math.round(bytes / 1e3)), "KB"] : [bytes / 1e6, "MB"];
  return `${count.toLocaleString(language, { maximumFractionDigits: count < 100 ? 1 : 0 })} ${unit}`;
}

// A copy of a library is as large as all of its files.
const isCopy = (file) => file.name.toLowerCase().endsWith(".lectern");

function add(zone, files, over = []) {
  if (over.length) {
    const names = over.slice(0, 3).join(", ") + (over.length > 3 ? ", …" : "");
    const line = element("li", "said", filled(zone.words.passed_over, { names }));
    zone.list.append(line);
    setTimeout(() => line.remove(), 30000);
  }
  // Files of one name that come together are from different folders, also where the browser does not say which.
  const twins = [...files].filter((file) => !(file.place || "").includes("/") && [...files].some((other) => other !== file && other.name === file.name));
  twins.forEach((file, at) => { file.place = `${at + 1}/${file.name}`; });
  // The smallest first: what is there soonest can be asked about soonest.
  for (const file of [...files].sort((one, other) => one.size - other.size)) {
    if (file.size > zone.limit && !isCopy(file)) {
      zone.list.append(element("li", "failed", filled(zone.words.too_large, { name: file.name, size: size(file.size, zone.words.language), limit: size(zone.limit, zone.words.language) })));
      continue;
    }
    const row = element("li");
    const name = element("span", "name", file.name);
    const state = element("span", "state", filled(zone.words.waiting, { size: size(file.size, zone.words.language) }));
    const bar = element("div", "bar");
    const fill = element("div", "fill");
    bar.append(fill);
    row.append(name, state, bar);
    zone.list.append(row);
    zone.waiting.push({ file, row, state, bar, fill });
  }
  next(zone);
}

function next(zone) {
  while (zone.running < AT_ONCE && zone.waiting.length) send(zone, zone.waiting.shift());
}

function ended(zone) {
  zone.running -= 1;
  next(zone);
  const idle = !zone.running && !zone.waiting.length;
  clearTimeout(zone.timer);
  // Many files landing together are told of together.
  zone.timer = setTimeout(() => zone.tell("landed", Date.now()), idle ? 50 : 700);
}

function send(zone, upload) {
  zone.running += 1;
  const request = new XMLHttpRequest();
  const place = encodeURIComponent(upload.file.place || upload.file.webkitRelativePath || "");
  request.open("PUT", `${zone.address}?name=${encodeURIComponent(upload.file.name)}&place=${place}`);
  request.setRequestHeader("X-Lectern-Ticket", zone.ticket);
  request.responseType = "json";
  upload.state.textContent = filled(zone.words.copying, { size: size(upload.file.size, zone.words.language) });
  request.upload.onprogress = (event) => {
    if (event.lengthComputable) upload.fill.style.width = `${(100 * event.loaded) / event.total}%`;
  };
  request.upload.onload = () => { if (isCopy(upload.file)) upload.state.textContent = zone.words.checking; };
  request.onload = () => {
    const said = request.response || {};
    upload.bar.remove();
    if (request.status === 200 && (said.outcome === "copy" || (said.outcome === "added" && !said.message))) {
      upload.row.remove();
    } else {
      upload.row.className = request.status === 200 ? "said" : "failed";
      upload.state.textContent = request.status === 200
        ? said.message || (said.outcome === "replaced" ? zone.words.replaces : zone.words.there)
        : `${said.what || zone.words.failed} ${said.hint || ""}`;
      if (request.status !== 200) upload.row.querySelector(".name").remove();
      // A refused file stays in the list below with the same words; here they may go.
      setTimeout(() => upload.row.remove(), 8000);
    }
    ended(zone);
  };
  request.onerror = () => {
    upload.bar.remove();
    upload.row.className = "failed";
    upload.state.textContent = `${zone.words.lost} `;
    upload.row.append(button(zone.words.again, "plain", () => { upload.row.remove(); add(zone, [upload.file]); }));
    ended(zone);
  };
  request.send(upload.file);
}

// The buttons of the other ways; those behind "More" unfold in their place.
function drawWays(zone, place, data) {
  const told = JSON.stringify([data.ways, data.more]);
  if (zone.told === told) return;
  zone.told = told;
  place.replaceChildren();
  const wayButton = (name, label) => {
    const made = button(label, "plain way", null);
    made.dataset.name = name;
    place.append(made);
    return made;
  };
  for (const way of data.ways) wayButton(way.name, way.label);
  if (!data.more.length) return;
  const more = wayButton("", data.words.more);
  more.setAttribute("aria-expanded", "false");
  more.onclick = (event) => {
    event.stopPropagation();
    more.remove();
    const made = data.more.map((way) => wayButton(way.name, way.label));
    made[0].focus();
  };
}

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  let zone = zones.get(parentElement);
  const area = parentElement.querySelector(".area");
  const input = parentElement.querySelector("input");
  if (!zone) {
    zone = { list: parentElement.querySelector("ul"), waiting: [], running: 0 };
    zones.set(parentElement, zone);
    zone.prevent = (event) => { if (event.dataTransfer && [...event.dataTransfer.types].includes("Files")) event.preventDefault(); };
    // A file dropped beside the area must not replace the page.
    window.addEventListener("dragover", zone.prevent);
    window.addEventListener("drop", zone.prevent);
  }
  zone.address = data.address;
  zone.ticket = data.ticket;
  zone.limit = data.limit;
  zone.tell = setStateValue; // of two triggers of one element the later would take the place of a way just chosen
  zone.words = data.words;
  parentElement.querySelector(".big").textContent = matchMedia("(hover: none)").matches ? data.words.add : data.words.drop;
  parentElement.querySelector(".quiet").textContent = data.words.kinds;
  parentElement.querySelector(".choose").textContent = data.words.choose;
  area.classList.toggle("small", Boolean(data.small));
  drawWays(zone, parentElement.querySelector(".others"), data);
  area.hidden = false;
  drawn(parentElement);
  let depth = 0;
  area.ondragenter = (event) => { event.preventDefault(); depth += 1; area.classList.add("over"); };
  area.ondragleave = () => { depth -= 1; if (depth <= 0) area.classList.remove("over"); };
  area.ondragover = (event) => event.preventDefault();
  area.ondrop = async (event) => {
    event.preventDefault();
    depth = 0;
    area.classList.remove("over");
    const over = [];
    add(zone, await dropped(event.dataTransfer, over), over);
  };
  area.onclick = (event) => {
    const way = event.target.closest(".way");
    if (way) setTriggerValue("way", { name: way.dataset.name, at: Date.now() });
    else if (event.target !== input) input.click();
  };
  input.onchange = () => { add(zone, [...input.files]); input.value = ""; };
  return () => {
    window.removeEventListener("dragover", zone.prevent);
    window.removeEventListener("drop", zone.prevent);
    zones.delete(parentElement);
  };
}
