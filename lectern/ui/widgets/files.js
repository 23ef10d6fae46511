// The list of files. One row per file, kept across updates so that bars move and nothing jumps.
const lists = new WeakMap();
const SILENCE = 5000; // milliseconds without news of what is being read, after which they are asked for

// The page brings news by itself. Should it stop doing so, what is ready would seem to be read for ever.
function listen(list, active) {
  clearTimeout(list.timer);
  if (active) list.timer = setTimeout(() => { list.look(); listen(list, true); }, SILENCE);
}

// Ticks are kept here, as one may follow the other faster than the page tells of them.
function tell(list) {
  for (const [id, view] of list.views) view.tick.checked = list.chosen.has(id);
  list.all.checked = list.views.size > 0 && list.chosen.size === list.views.size;
  list.keep("chosen", [...list.chosen]);
}

function choose(list, choosing) {
  list.root.classList.toggle("choosing", choosing);
  list.all.parentElement.hidden = !choosing;
  list.all.nextElementSibling.textContent = list.words.all;
  list.all.onchange = () => { list.chosen = new Set(list.all.checked ? list.views.keys() : []); tell(list); };
  if (!choosing && list.chosen.size) { list.chosen.clear(); tell(list); }
}

function buildRow(list, id) {
  const row = element("li", "row");
  row.dataset.id = id;
  const view = { row, signature: "", mode: "" };
  view.kind = element("span", "kind");
  view.kind.setAttribute("aria-hidden", "true");
  view.name = button("", "name", null);
  view.facts = element("span", "facts");
  view.groups = element("span", "groups");
  view.tick = element("input", "tick");
  view.tick.type = "checkbox";
  view.tick.onchange = () => { list.chosen[view.tick.checked ? "add" : "delete"](id); tell(list); };
  view.bar = element("div", "bar");
  view.fill = element("div", "fill");
  view.bar.append(view.fill);
  view.bar.setAttribute("role", "progressbar");
  view.note = element("div", "note");
  view.extra = element("div", "extra");
  view.actions = element("div", "actions");
  const middle = element("div", "middle");
  const line = element("div", "line");
  line.append(view.facts, view.groups);
  middle.append(view.name, line, view.bar);
  row.append(view.kind, view.tick, middle, view.actions, view.note, view.extra);
  list.views.set(id, view);
  return view;
}

function update(list, view, file) {
  const act = (what, more) => list.send("act", { do: what, id: file.id, at: Date.now(), ...more });
  view.row.dataset.state = file.state;
  view.kind.textContent = file.kind;
  view.name.replaceChildren(...nameParts(file.parts));
  view.name.setAttribute("aria-label", file.name);
  view.name.disabled = !file.open;
  view.name.title = file.open ? filled(list.words.open_of, file) : file.name;
  view.name.onclick = () => (list.root.classList.contains("choosing") ? view.tick.click() : act("open"));
  view.facts.textContent = view.facts.title = file.facts;
  view.groups.replaceChildren(...file.groups.map((group) => element("span", "group", group)));
  view.tick.setAttribute("aria-label", filled(list.words.choose_of, file));
  view.bar.hidden = file.state !== "active";
  if (file.state === "active") {
    view.fill.style.width = `${Math.round(file.fraction * 1000) / 10}%`;
    view.bar.setAttribute("aria-label", `${file.name}: ${file.facts}`);
    view.bar.setAttribute("aria-valuenow", String(Math.round(file.fraction * 100)));
  }
  view.note.hidden = !file.problem;
  // What a person is doing in a row - typing a password, about to delete - outlives the updates around it.
  const signature = JSON.stringify([file.state, file.problem, file.retry, view.mode, list.words.delete]);
  if (signature === view.signature) return;
  view.signature = signature;
  view.note.replaceChildren();
  view.extra.replaceChildren();
  view.actions.replaceChildren();
  if (file.problem) {
    view.note.append(element("span", "what", file.problem.what), " ", element("span", "hint", file.problem.hint));
  }
  const again = (mode) => { view.mode = mode; update(list, view, file); };
  if (view.mode === "delete") {
    const sure = element("div", "confirm");
    sure.setAttribute("role", "group");
    sure.append(element("span", "", list.words.sure));
    const yes = button(list.words.delete, "danger", () => { act("delete"); view.row.classList.add("leaving"); });
    const keep = () => { again(""); giveKeyboard(view.row, "bin"); };
    sure.append(yes, button(list.words.keep, "plain", keep));
    sure.onkeydown = (event) => { if (event.key === "Escape") keep(); };
    view.extra.append(sure);
    setTimeout(() => yes.focus(), 0);
    return;
  }
  if (file.problem && file.problem.needs_password) {
    const form = element("form", "confirm");
    const field = element("input");
    field.type = "password";
    field.placeholder = list.words.password;
    field.autocomplete = "off";
    field.setAttribute("aria-label", filled(list.words.password_of, file));
    const open = element("button", "accent", list.words.unlock);
    open.type = "submit";
    form.append(field, open);
    form.onsubmit = (event) => { event.preventDefault(); if (field.value) act("retry", { password: field.value }); };
    view.extra.append(form);
  } else if (file.retry) {
    const [label, labelOf] = file.state === "stopped" ? [list.words.resume, list.words.resume_of] : [list.words.retry, list.words.retry_of];
    view.actions.append(button(label, "plain", () => act("retry"), filled(labelOf, file)));
  }
  const isPartial = file.problem?.left_out?.length;
  if (isPartial || file.problem?.details) {
    const details = element("details");
    const more = isPartial ? leftOut(file.problem.left_out) : element("code", "", file.problem.details);
    details.append(element("summary", "", list.words.details), more);
    view.extra.append(details);
  }
  if (file.state === "active") {
    view.actions.append(button(list.words.stop, "plain", () => act("stop"), filled(list.words.stop_of, file)));
  } else {
    const bin = button("", "icon", () => again("delete"), filled(list.words.delete_of, file));
    bin.title = list.words.delete;
    bin.dataset.at = "bin";
    bin.innerHTML = '<svg viewBox="0 0 24 24" width="18" height="18" fill="none" stroke="currentColor" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M4 7h16M10 11v6M14 11v6M6 7l1 12a1 1 0 0 0 1 1h8a1 1 0 0 0 1-1l1-12M9 7V4h6v3"/></svg>';
    view.actions.append(bin);
  }
}

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector("ul");
  let list = lists.get(parentElement);
  if (!list) {
    list = { root, views: new Map(), chosen: new Set(), all: parentElement.querySelector(".all input") };
    lists.set(parentElement, list);
    list.look = () => list.send("act", { do: "look", at: Date.now() });
    list.seen = () => { if (document.visibilityState === "visible") list.look(); };
  }
  document.addEventListener("visibilitychange", list.seen);
  list.send = setTriggerValue;
  list.keep = setStateValue;
  list.words = data.words;
  root.setAttribute("aria-label", data.words.list);
  const wanted = new Set(data.files.map((file) => file.id));
  for (const [id, view] of list.views) {
    if (!wanted.has(id)) { view.row.remove(); list.views.delete(id); list.chosen.delete(id); }
  }
  let previous = null;
  for (const file of data.files) {
    const view = list.views.get(file.id) || buildRow(list, file.id);
    update(list, view, file);
    const place = previous ? previous.nextSibling : root.firstChild;
    if (place !== view.row) root.insertBefore(view.row, place);
    previous = view.row;
  }
  choose(list, data.choosing);
  drawn(parentElement);
  listen(list, data.files.some((file) => file.state === "active"));
  // The rows stay where they are, and the page may begin with them again: the list is kept as long as its place is.
  return () => { listen(list, false); document.removeEventListener("visibilitychange", list.seen); };
}
