// What every component's script begins with.
function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined && text !== null) made.textContent = text;
  return made;
}

function button(text, className, onclick, label) {
  const made = element("button", className, text);
  made.type = "button";
  if (label) made.setAttribute("aria-label", label);
  made.onclick = onclick;
  return made;
}

// A part of a text in which what was dropped and what is new are marked, but not the space before either.
function marked(kind, words) {
  if (kind === "same") return [words];
  const bare = words.trimStart();
  const space = words.slice(0, words.length - bare.length);
  return bare ? [space, element(kind === "added" ? "ins" : "del", "", bare)] : [space];
}

// A text with its {places} filled.
function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (place, name) => values[name] ?? place);
}

// What a file was read without.
function leftOut(sentences) {
  const list = element("ul", "left-out");
  for (const sentence of sentences) list.append(element("li", "", sentence));
  return list;
}

// A name from the two parts of labels.name_parts, of which the first is shortened where there is no room.
function nameParts([start, end]) {
  return [element("span", "start", start), element("span", "end", end)];
}

function giveKeyboard(root, at) {
  root.querySelector(`[data-at="${CSS.escape(at)}"]`)?.focus({ preventScroll: true });
}

// Draw it again without taking the keyboard from who is at an element whose `data-at` the new drawing has too.
function drawAnew(root, draw) {
  const at = root.getRootNode().activeElement?.dataset.at;
  draw();
  if (at) giveKeyboard(root, at);
}

// Say that a component shows what it has: until then the page keeps its place, see style.css.
function drawn(parentElement) {
  parentElement.getRootNode().host.dataset.drawn = "";
}

