// Turns the citation links of the page's answers into events: a click opens the passage and leaves the page where it is.
const listeners = new WeakMap();

export default function ({ parentElement, setTriggerValue }) {
  let kept = listeners.get(parentElement);
  if (!kept) {
    kept = {};
    kept.onclick = (event) => {
      const path = event.composedPath();
      const link = path.find((node) => node instanceof HTMLAnchorElement);
      const target = link && (link.getAttribute("href") || "");
      if (!target || !target.startsWith("#passage-")) return;
      event.preventDefault();
      event.stopPropagation();
      kept.send("open", { passage: target.slice("#passage-".length), at: Date.now() });
    };
    document.addEventListener("click", kept.onclick, true);
    kept.onkey = (event) => {
      if (event.key === "Escape" && kept.open && !document.querySelector('[role="dialog"]')) kept.send("open", { passage: "", at: Date.now() });
    };
    document.addEventListener("keydown", kept.onkey);
    listeners.set(parentElement, kept);
  }
  kept.send = setTriggerValue;
  kept.open = Boolean(arguments[0].data.open);
  for (const link of document.querySelectorAll('a[href^="#passage-"]')) {
    link.removeAttribute("target");
    link.classList.toggle("open", link.getAttribute("href") === `#passage-${arguments[0].data.open}`);
  }
  return () => {
    document.removeEventListener("click", kept.onclick, true);
    document.removeEventListener("keydown", kept.onkey);
    listeners.delete(parentElement);
  };
}
