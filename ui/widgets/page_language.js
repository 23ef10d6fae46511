// Tells browsers and screen readers which language the page is in; and whether it is light or dark, which Streamlit says of the
// application alone, while dialogs and what buttons open lie beside it.
let changes;

export default function ({ data }) {
  document.documentElement.lang = data.language;
  const app = document.querySelector('[data-testid="stApp"]');
  const tell = () => { document.documentElement.style.colorScheme = getComputedStyle(app).colorScheme; };
  changes?.disconnect();
  changes = new MutationObserver(tell);
  changes.observe(app, { attributes: true, attributeFilter: ["class"] });
  tell();
}
