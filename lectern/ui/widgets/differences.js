// Two texts in one: what only the first says is struck through, what only the second says underlined.
export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".root");
  const legend = element("p", "legend");
  for (const kind of ["removed", "added"]) legend.append(...marked(kind, data.words[kind]));
  const text = element("div", "text");
  text.append(...data.pieces.flatMap(([kind, words]) => marked(kind, words)));
  root.replaceChildren(legend, text);
}
