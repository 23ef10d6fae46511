// Turns the links of the page's answers into events: a click opens the passage, or the calls, and leaves the page where it is.
// When an answer has come, the question box, closed meanwhile, gets the keyboard unless a person is elsewhere by now; so it
// does when a conversation is opened.
const listeners = new WeakMap();

function takeUpAgain(tries) {
  const box = document.querySelector('[data-testid="stChatInputTextArea"]');
  if (document.activeElement && document.activeElement !== document.body) return;
  if (box && !box.disabled) box.focus({ preventScroll: true });
  else if (tries) setTimeout(() => takeUpAgain(tries - 1), 100);
}

export default function ({ data, parentElement, setTriggerValue }) {
  let kept = listeners.get(parentElement);
  if (!kept) {
    kept = {};
    kept.onclick = (event) => {
      const path = event.composedPath();
      const link = path.find((node) => node instanceof HTMLAnchorElement);
      const target = link && (link.getAttribute("href") || "");
      const asked = target && /^#(passage|calls)-(.+)$/.exec(target);
      if (!asked) return;
      event.preventDefault();
      event.stopPropagation();
      kept.send("open", { panel: `${asked[1]}.${asked[2]}`, at: Date.now() });
    };
    document.addEventListener("click", kept.onclick, true);
    kept.onkey = (event) => {
      if (event.key === "Escape" && kept.open && !document.querySelector('[role="dialog"]')) kept.send("open", { panel: "", at: Date.now() });
    };
    document.addEventListener("keydown", kept.onkey);
    listeners.set(parentElement, kept);
  }
  kept.send = setTriggerValue;
  kept.open = Boolean(data.open);
  // A touch screen would unfold its keyboard over the answer.
  if (!data.answering && kept.last !== data.last) {
    kept.last = data.last;
    if (window.matchMedia("(hover: hover)").matches) takeUpAgain(150);
  }
  for (const link of document.querySelectorAll('a[href^="#passage-"], a[href^="#calls-"]')) {
    link.removeAttribute("target");
    link.classList.toggle("open", link.getAttribute("href") === `#${data.open.replace(".", "-")}`);
  }
  return () => {
    document.removeEventListener("click", kept.onclick, true);
    document.removeEventListener("keydown", kept.onkey);
    listeners.delete(parentElement);
  };
}
