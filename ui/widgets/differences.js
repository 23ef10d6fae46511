// Two texts in one: what only the first says is struck through, what only the second says underlined.
const TAGS = { same: "span", removed: "del", added: "ins" };

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".root");
  const made = (kind, text) => {
    const drawn = document.createElement(TAGS[kind]);
    drawn.textContent = text;
    return drawn;
  };
  const legend = document.createElement("p");
  legend.className = "legend";
  for (const kind of ["removed", "added"]) legend.append(made(kind, data.words[kind]));
  const text = document.createElement("div");
  text.className = "text";
  text.append(...data.pieces.map(([kind, words]) => made(kind, words)));
  root.replaceChildren(legend, text);
}
