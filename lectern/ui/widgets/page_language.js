// Tells browsers and screen readers which language the page is in; and whether it is light or dark, which Streamlit says of the
// application alone, while dialogs and what buttons open lie beside it. And says in that language what Streamlit says in English.
let scheme, words, appearance;
const written = new WeakMap(); // by text or element, for each of its attributes: Streamlit's English and what replaced it

export default function ({ data }) {
  document.documentElement.lang = data.language;
  for (const [name, words] of Object.entries(data.style)) document.documentElement.style.setProperty(`--lectern-${name}`, JSON.stringify(words));
  const app = document.querySelector('[data-testid="stApp"]');
  const tell = () => { document.documentElement.style.colorScheme = getComputedStyle(app).colorScheme; };
  scheme?.disconnect();
  scheme = new MutationObserver(tell);
  scheme.observe(app, { attributes: true, attributeFilter: ["class"] });
  tell();

  if (data.appearance !== null && data.appearance !== appearance) {
    appearance = data.appearance;
    document.cookie = `${data.cookie}=${appearance}; path=/; max-age=${appearance ? 31536000 : 0}; samesite=lax`;
    dispatchEvent(new Event("afterprint")); // Streamlit then asks the browser for its colours again: see first_frame.py
  }

  words?.disconnect();
  let asked = 0;
  const say = () => { asked = 0; translate(data.words, data.labels, data.language === "en"); };
  say(); // also in English: another language may have been chosen before
  words = new MutationObserver(() => { asked ||= requestAnimationFrame(say); });
  const changes = { childList: true, characterData: true, attributes: true, attributeFilter: ["aria-label", "placeholder"] };
  words.observe(document.body, { subtree: true, ...changes });
}

function translate(words, labels, isEnglish) {
  const inLanguage = (node, current, said, name = "text") => {
    const known = written.get(node)?.[name], english = known?.own === current ? known.english : current;
    const own = withoutMarks(isEnglish ? english : translated(english, said));
    written.set(node, { ...written.get(node), [name]: { english, own } });
    return own;
  };
  for (const [place, said] of Object.entries(words))
    for (const root of document.querySelectorAll(`[data-testid="${place}"]`)) {
      const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        const text = texts.currentNode, own = inLanguage(text, text.nodeValue, said);
        if (own !== text.nodeValue) text.nodeValue = own;
      }
    }
  for (const name of ["aria-label", "placeholder"])
    for (const named of document.querySelectorAll(`[${name}]`)) {
      const label = named.getAttribute(name), own = inLanguage(named, label, labels, name);
      if (own !== label) named.setAttribute(name, own);
    }
}

// Streamlit reads the marks of a label aloud: "Freedom of wording :gray[temperature]".
function withoutMarks(text) {
  return text.replace(/:gray\[([^\]]*)\]/g, "$1");
}

function translated(text, said) {
  for (const [english, own] of Object.entries(said)) {
    const [before, after] = english.split("{name}");
    if (after === undefined ? text === english : text.startsWith(before) && text.endsWith(after))
      return own.replace("{name}", () => text.slice(before.length, text.length - after.length));
  }
  return text;
}
