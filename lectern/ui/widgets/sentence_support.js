// The sentences of an answer, each with a mark and a word for what the passages say of it. A click opens what bears it out.
const MARKS = { supported: "✓", weak: "~", absent: "✕" };

function row(data, sentence, open) {
  const made = element("li", `sentence ${sentence.verdict || "unjudged"}`);
  const inside = sentence.number ? element("button", "plain-row") : element("div", "plain-row");
  if (sentence.number) {
    inside.type = "button";
    inside.title = data.words.open;
    inside.onclick = () => open(sentence.number);
  }
  if (sentence.verdict) {
    const verdict = element("span", "verdict");
    const mark = element("span", "mark", MARKS[sentence.verdict]);
    mark.setAttribute("aria-hidden", "true");
    verdict.append(mark, element("span", "word", data.words[sentence.verdict]));
    inside.append(verdict);
  }
  inside.append(element("span", "said", sentence.text));
  if (sentence.number) {
    if (sentence.evidence) inside.append(element("span", "evidence", `“${sentence.evidence}”`));
    inside.append(element("span", "place", sentence.place));
  }
  if (sentence.miscited) inside.append(element("span", "miscited", data.words.miscited));
  made.append(inside);
  return made;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const list = element("ol", "sentences");
  const open = (number) => setTriggerValue("open", { number, at: Date.now() });
  list.append(...data.sentences.map((sentence) => row(data, sentence, open)));
  root.replaceChildren(list);
}
