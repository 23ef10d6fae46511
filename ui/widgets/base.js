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

