// The conversations in the sidebar: open, pin, rename, duplicate, export, delete.
const lists = new WeakMap();
const GOES = '[data-testid="stSidebarNavLink"], .st-key-new_chat button, button.title'; // what leads from the sidebar to a page
const PRINTER = '<svg viewBox="0 0 24 24" width="14" height="14" fill="none" stroke="currentColor" stroke-width="1.7" stroke-linejoin="round" aria-hidden="true"><path d="M7 9V4h10v5M7 17H4V9h16v8h-3M7 14h10v6H7z"/></svg>';

const isPhone = () => matchMedia("(max-width: 768px)").matches;

// On a phone the sidebar lies over the page, and would over the one that was chosen.
function showPage(event) {
  const chosen = event.composedPath().some((each) => each.matches?.(GOES));
  if (chosen && isPhone()) document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
}

// Open the conversation in a tab of its own, and there the browser's dialog for printing, which also saves as PDF.
function printPage(event) {
  const tab = window.open(event.currentTarget.href);
  if (!tab) return; // the browser follows the link itself
  event.preventDefault();
  const waiting = setInterval(() => {
    if (!tab.closed && (tab.location.href === "about:blank" || tab.document.readyState !== "complete")) return;
    clearInterval(waiting);
    if (!tab.closed) tab.print();
  }, 100);
}

function draw(list) {
  const { data, root } = list;
  const words = data.words;
  root.setAttribute("aria-label", words.list);
  const send = (what, id, more) => list.send("act", { do: what, id, at: Date.now(), ...more });
  root.replaceChildren();
  let group;
  let rows; // of the group
  for (const item of data.items) {
    if (item.group !== group) {
      group = item.group;
      rows = element("ul");
      rows.setAttribute("aria-label", group);
      root.append(element("h3", "", group), rows);
    }
    const row = element("li", item.id === data.open ? "open" : "");
    const back = () => { draw(list); giveKeyboard(root, `more ${item.id}`); };
    if (list.editing === item.id) {
      const form = element("form");
      const field = element("input");
      field.value = item.title;
      field.maxLength = 120;
      field.setAttribute("aria-label", words.name);
      const keep = () => {
        if (list.editing !== item.id) return;
        list.editing = null;
        if (field.value.trim() && field.value.trim() !== item.title) { send("rename", item.id, { title: field.value.trim() }); item.title = field.value.trim(); }
        draw(list);
      };
      form.onsubmit = (event) => { event.preventDefault(); keep(); giveKeyboard(root, `more ${item.id}`); };
      field.onblur = keep;
      field.onkeydown = (event) => { if (event.key === "Escape") { list.editing = null; back(); } };
      form.append(field);
      row.append(form);
      setTimeout(() => { field.focus(); field.select(); }, 0);
    } else if (list.deleting === item.id) {
      const sure = element("div", "sure");
      sure.append(element("span", "", words.sure));
      const yes = button(words.delete, "danger", () => {
        const all = [...root.querySelectorAll("li")];
        const beside = all[all.indexOf(row) + 1] || all[all.indexOf(row) - 1];
        list.deleting = null;
        row.remove();
        beside?.querySelector("button").focus();
        send("delete", item.id);
      });
      const no = button(words.keep, "plain", () => { list.deleting = null; back(); });
      sure.onkeydown = (event) => { if (event.key === "Escape") no.click(); };
      sure.append(yes, no);
      row.append(sure);
      setTimeout(() => yes.focus(), 0);
    } else {
      const open = button("", "title", () => send("open", item.id));
      const [, name, number] = item.title.match(/^(.*?)( \(\d+\))?$/s); // a copy's number is seen however long its name is
      open.append(element("span", "name", name), element("span", "", number || ""));
      open.title = item.title;
      if (item.id === data.open) open.setAttribute("aria-current", "page");
      const unfold = (event) => { event.stopPropagation(); list.menu = list.menu === item.id ? null : item.id; back(); };
      const more = button("⋯", "more", unfold, words.more.replace("{title}", () => item.title));
      more.setAttribute("aria-expanded", String(list.menu === item.id));
      more.dataset.at = `more ${item.id}`;
      row.append(open, more);
      if (item.snippet) {
        const [before, word, after] = item.snippet;
        const snippet = element("div", "snippet");
        snippet.append(before, element("b", "", word), after);
        snippet.onclick = () => open.click();
        row.append(snippet);
      }
      if (list.menu === item.id) {
        const menu = element("div", "menu");
        const entry = (text, act) => button(text, "", () => { list.menu = null; act(); });
        const pin = entry(item.pinned ? words.unpin : words.pin, () => { back(); send("pin", item.id, { pinned: !item.pinned }); });
        const rename = entry(words.rename, () => { list.editing = item.id; draw(list); });
        const duplicate = entry(words.duplicate, () => { back(); send("duplicate", item.id); });
        const remove = entry(words.delete, () => { list.deleting = item.id; draw(list); });
        const file = (name, address, title) => {
          const link = element("a", "", name);
          link.href = address.replace("ID", item.id);
          link.title = title;
          link.setAttribute("aria-label", title);
          return link;
        };
        const files = Object.entries(data.files).map(([name, address]) => file(name, address, words.export.replace("{form}", name)));
        for (const link of files) link.download = "";
        const print = file(words.print, data.print, words.print);
        print.className = "print";
        print.innerHTML = PRINTER;
        print.append(words.print);
        print.target = "_blank";
        print.onclick = printPage;
        menu.append(pin, rename, duplicate, remove, element("span", "", words.exports), print, ...files);
        row.append(menu);
        setTimeout(() => { pin.focus({ preventScroll: true }); row.scrollIntoView({ block: "nearest" }); }, 0);
      }
    }
    rows.append(row);
  }
  if (data.more) {
    root.append(button(words.show, "plain", () => { list.longer = data.items.length; send("more", ""); }));
  }
  if (list.longer < data.items.length) {
    root.querySelectorAll("button.title")[list.longer].focus(); // the first of those that were asked for
    list.longer = undefined;
  }
}

// In the open sidebar of a phone a row would move under the finger: changes by other devices wait there until it is opened anew.
function show(list) {
  const open = isPhone() && document.querySelector('[data-testid="stSidebar"][data-collapsed="false"]');
  if (list.data === list.newest || (open && list.data?.asked === list.newest.asked)) return;
  list.data = list.newest;
  if (!list.editing) drawAnew(list.root, () => draw(list));
}

export default function ({ data, parentElement, setTriggerValue }) {
  let list = lists.get(parentElement);
  if (!list) {
    list = { root: parentElement.querySelector("section") };
    lists.set(parentElement, list);
    list.away = (event) => {
      if (list.menu && !event.composedPath().includes(list.root)) { list.menu = null; draw(list); }
      showPage(event);
    };
    list.escape = (event) => {
      if (event.key !== "Escape" || !list.menu) return;
      const menu = list.menu;
      list.menu = null;
      draw(list);
      giveKeyboard(list.root, `more ${menu}`);
    };
    document.addEventListener("click", list.away);
    document.addEventListener("keydown", list.escape);
    list.opened = new MutationObserver(() => show(list));
    list.opened.observe(document.querySelector('[data-testid="stSidebar"]'), { attributes: true, attributeFilter: ["data-collapsed"] });
  }
  list.send = setTriggerValue;
  const signature = JSON.stringify(data);
  if (signature !== list.signature) {
    list.signature = signature;
    list.newest = data;
    show(list);
  }
  return () => {
    document.removeEventListener("click", list.away);
    document.removeEventListener("keydown", list.escape);
    list.opened.disconnect();
    lists.delete(parentElement);
  };
}
