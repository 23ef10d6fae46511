// The small buttons under an answer, and a menu for the rarer ones.
const COPY = '<rect x="9" y="9" width="11" height="11" rx="2"/><path d="M5 15H4V5a1 1 0 0 1 1-1h10v1"/>';
const DONE = '<path d="M5 13l4 4L19 7"/>';
const MORE = '<path d="M5 12h.01M12 12h.01M19 12h.01" stroke-width="3"/>';

const drawing = (inside) => `<svg viewBox="0 0 24 24" width="17" height="17" fill="none" stroke="currentColor" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${inside}</svg>`;

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const held = root.getRootNode().activeElement?.dataset?.do; // whoever pressed a button by the keyboard stays on it
  root.replaceChildren();
  const act = (action) => setTriggerValue("act", { do: action.do, at: Date.now() });

  const iconButton = (inside, label, onclick) => {
    const made = button("", "icon", () => onclick(made), label);
    made.innerHTML = drawing(inside);
    made.title = label;
    root.append(made);
    return made;
  };
  const path = (action) => {
    const drawn = document.createElementNS("http://www.w3.org/2000/svg", "path");
    drawn.setAttribute("d", action.icon);
    return drawn.outerHTML;
  };

  if (data.text) iconButton(COPY, data.words.copy, async (made) => {
    try {
      await navigator.clipboard.writeText(data.text);
      made.innerHTML = drawing(DONE);
      made.title = data.words.copied;
      setTimeout(() => { made.innerHTML = drawing(COPY); made.title = data.words.copy; }, 1500);
    } catch {
      made.title = data.words.cannot_copy;
    }
  });
  for (const action of data.actions.filter((one) => !one.menu)) {
    const made = iconButton(path(action), action.label, () => act(action));
    made.dataset.do = action.do;
    if (action.spelled) { made.classList.add("spelled"); made.append(action.label); }
    if (action.do === held) made.focus();
  }

  const rare = data.actions.filter((one) => one.menu);
  if (!rare.length) return;
  const more = iconButton(MORE, data.words.more, () => (menu.hidden ? open() : close()));
  more.dataset.do = "more";
  if (held === "more") more.focus();
  more.setAttribute("aria-haspopup", "menu");
  more.setAttribute("aria-expanded", "false");
  const menu = element("div", "menu");
  menu.setAttribute("role", "menu");
  menu.hidden = true;
  const items = rare.map((action, at) => {
    if (at && action.group !== rare[at - 1].group) menu.append(document.createElement("hr"));
    const item = document.createElement(action.download ? "a" : "button");
    if (action.download) { item.href = action.download; item.download = ""; } else item.type = "button";
    const chosen = typeof action.pressed === "boolean";
    item.setAttribute("role", chosen ? "menuitemcheckbox" : "menuitem");
    if (chosen) item.setAttribute("aria-checked", String(action.pressed));
    item.dataset.do = action.do;
    item.innerHTML = drawing(path(action));
    item.append(action.label);
    item.onclick = () => { close(); more.focus(); if (!action.download) act(action); };
    menu.append(item);
    return item;
  });
  root.append(menu);

  const elsewhere = (event) => { if (!event.composedPath().includes(root)) close(); };
  const open = () => {
    menu.hidden = false;
    more.setAttribute("aria-expanded", "true");
    // Where there is more room, and no higher than that.
    menu.style.maxHeight = "";
    const { top, bottom } = more.getBoundingClientRect();
    const floor = document.querySelector('[data-testid="stBottom"]')?.getBoundingClientRect().top ?? window.innerHeight;
    const roof = document.querySelector('[data-testid="stHeader"]')?.getBoundingClientRect().bottom ?? 0;
    const above = bottom + menu.offsetHeight > floor && top - roof > floor - bottom;
    menu.classList.toggle("above", above);
    menu.style.maxHeight = `${Math.max(above ? top - roof : floor - bottom, 160) - 8}px`;
    items[0].focus();
    document.addEventListener("click", elsewhere, true);
  };
  const close = () => {
    menu.hidden = true;
    more.setAttribute("aria-expanded", "false");
    document.removeEventListener("click", elsewhere, true);
  };
  menu.onkeydown = (event) => {
    const at = items.indexOf(event.target);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (to !== undefined) { event.preventDefault(); items[(to + items.length) % items.length].focus(); }
    if (event.key === "Escape") { event.stopPropagation(); close(); more.focus(); }
    if (event.key === "Tab") close();
  };
  return () => document.removeEventListener("click", elsewhere, true);
}
