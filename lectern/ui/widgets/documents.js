// A table of documents. What can be done with one is in a row below it, opened by its button.
const tables = new WeakMap();

// A long name breaks after its _ . and - rather than within a word.
function breakable(name) {
  return name.split(/(?<=[_.-])/).flatMap((part, at) => (at ? [document.createElement("wbr"), part] : [part]));
}

function head(table) {
  const { data, send } = table;
  const row = element("tr");
  for (const column of ["name", "state", "passages", "size", "added"]) {
    const cell = element("th", column);
    const sorted = data.sort.replace("-", "") === column;
    cell.setAttribute("aria-sort", !sorted ? "none" : data.sort.startsWith("-") ? "descending" : "ascending");
    const arrow = !sorted ? "" : data.sort.startsWith("-") ? " ↓" : " ↑";
    const sort = button(data.words[column] + arrow, "sort", () => send("act", { do: "sort", id: column, at: Date.now() }));
    sort.dataset.at = `sort ${column}`;
    cell.append(sort);
    row.append(cell);
  }
  row.append(element("td"));
  return row;
}

function replace(table, file, status) {
  const input = element("input");
  input.type = "file";
  const dot = file.name.lastIndexOf(".");
  if (dot > 0) input.accept = file.name.slice(dot);
  input.onchange = async () => {
    if (!input.files[0]) return;
    status.textContent = table.data.words.sending;
    try {
      const answer = await fetch(`${table.data.address}?name=${encodeURIComponent(file.name)}`, {
        method: "PUT", headers: { "X-Lectern-Ticket": table.data.ticket }, body: input.files[0],
      });
      const said = await answer.json();
      status.textContent = answer.ok ? "" : `${said.what} ${said.hint}`;
      if (answer.ok) table.opened = "";
      if (answer.ok) table.send("act", { do: "replaced", id: file.id, name: file.name, at: Date.now() });
    } catch {
      status.textContent = table.data.words.lost;
    }
  };
  input.click();
}

function actions(table, file) {
  const { data, send } = table;
  const row = element("tr", "actions");
  const cell = element("td");
  cell.colSpan = 6;
  const act = (what) => { table.opened = ""; send("act", { do: what, id: file.id, at: Date.now() }); };
  const status = element("span", "status");
  status.setAttribute("role", "status");
  if (table.sure === file.id) {
    const yes = button(data.words.delete, "danger", () => { table.sure = ""; act("delete"); });
    cell.append(element("span", "", data.words.sure), yes, button(data.words.keep, "plain", () => unfold(table, file.id)));
    setTimeout(() => yes.focus(), 0);
  } else {
    if (file.open) cell.append(button(data.words.document, "plain", () => act("document")));
    if (file.again) cell.append(button(data.words.again, "plain", () => act("again")));
    cell.append(button(data.words.replace, "plain", () => replace(table, file, status)));
    cell.append(button(data.words.delete, "plain", () => { table.sure = file.id; draw(table); }), status);
  }
  if (file.left_out.length) {
    const details = element("details");
    details.append(element("summary", "", data.words.details), leftOut(file.left_out));
    cell.append(details);
  }
  row.append(cell);
  return row;
}

// Show what can be done with this document; nothing of any for "". The keyboard stays at the document's button.
function unfold(table, id) {
  const before = table.opened;
  table.opened = id;
  table.sure = "";
  draw(table);
  giveKeyboard(table.root, `more ${id || before}`);
}

function draw(table) {
  const { data, root, send } = table;
  const made = element("table");
  const top = element("thead");
  top.append(head(table));
  const body = element("tbody");
  for (const file of data.rows) {
    const row = element("tr", file.state);
    const name = element("td", "name");
    if (file.open) {
      const open = button(file.name, "link", () => send("act", { do: "open", id: file.id, at: Date.now() }));
      open.title = filled(data.words.open, file);
      open.dataset.at = `open ${file.id}`;
      open.replaceChildren(...breakable(file.name));
      name.append(open);
    } else name.append(...breakable(file.name));
    row.append(name);
    const status = element("td", "status");
    status.append(...breakable(file.status));
    row.append(status);
    for (const column of ["passages", "size", "added"]) row.append(element("td", column, file[column]));
    const more = element("td", "more");
    const dots = button("⋯", "icon", () => unfold(table, table.opened === file.id ? "" : file.id), filled(data.words.more, file));
    dots.setAttribute("aria-expanded", String(table.opened === file.id));
    dots.dataset.at = `more ${file.id}`;
    more.append(dots);
    row.append(more);
    body.append(row);
    if (table.opened === file.id) body.append(actions(table, file));
  }
  made.append(top, body);
  root.replaceChildren(made);
}

export default function ({ data, parentElement, setTriggerValue }) {
  let table = tables.get(parentElement);
  if (!table) {
    table = { root: parentElement.querySelector(".root"), opened: "", sure: "" };
    tables.set(parentElement, table);
    table.root.onkeydown = (event) => { if (event.key === "Escape" && table.opened) unfold(table, ""); };
  }
  table.send = setTriggerValue;
  const signature = JSON.stringify(data);
  table.data = data;
  if (signature !== table.signature) {
    table.signature = signature;
    drawAnew(table.root, () => draw(table));
  }
  drawn(parentElement);
}
