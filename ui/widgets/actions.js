// The small buttons under an answer.
const COPY = '<svg viewBox="0 0 24 24" width="17" height="17" fill="none" stroke="currentColor" stroke-width="1.7" stroke-linejoin="round" aria-hidden="true"><rect x="9" y="9" width="11" height="11" rx="2"/><path d="M5 15H4V5a1 1 0 0 1 1-1h10v1"/></svg>';
const DONE = '<svg viewBox="0 0 24 24" width="17" height="17" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M5 13l4 4L19 7"/></svg>';
const AGAIN = '<svg viewBox="0 0 24 24" width="17" height="17" fill="none" stroke="currentColor" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M20 11a8 8 0 1 0-2.3 6.3M20 5v6h-6"/></svg>';

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  root.replaceChildren();
  const make = (icon, label, onclick) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "icon";
    made.innerHTML = icon;
    made.title = label;
    made.setAttribute("aria-label", label);
    made.onclick = () => onclick(made);
    root.append(made);
  };
  make(COPY, "Copy", async (made) => {
    try {
      await navigator.clipboard.writeText(data.text);
      made.innerHTML = DONE;
      setTimeout(() => { made.innerHTML = COPY; }, 1500);
    } catch {
      made.title = "The browser does not allow copying here";
    }
  });
  make(AGAIN, "Answer again", () => setTriggerValue("again", Date.now()));
}
