// Turns the links of the page's answers into events: a click opens the passage, or the calls, and leaves the page where it is.
// The keyboard goes to the panel that is opened, and back to what opened it. When an answer has come, the question box, closed
// meanwhile, gets it unless a person is elsewhere by now; so it does when a conversation is opened or begun. Who hears the
// screen is told that an answer is being written, and that it is there.
const listeners = new WeakMap();

function takeUpAgain(tries) {
  const box = document.querySelector('[data-testid="stChatInputTextArea"]'), at = document.activeElement;
  if (at && at !== document.body && !at.closest(".st-key-new_chat")) return;
  if (box && !box.disabled) box.focus({ preventScroll: true });
  else if (tries) setTimeout(() => takeUpAgain(tries - 1), 100);
}

const narrow = window.matchMedia("(max-width: 899px)"); // where the panel covers the screen
const panel = () => document.querySelector(".st-key-panel");

function focused(root = document) {
  const at = root.activeElement;
  return at?.shadowRoot?.activeElement ? focused(at.shadowRoot) : at;
}

// What opened the panel, or what stands in its place since it was drawn anew.
function opener({ at, shown }) {
  if (at.isConnected) return at;
  const buttons = [...document.querySelectorAll(`[class*="st-key-actions_${shown.split(".")[1]}"] *`)];
  const again = buttons.map((host) => host.shadowRoot?.querySelector(`[data-do="${at.dataset.do}"]`)).find(Boolean);
  return again || document.querySelector(`a[href="#${CSS.escape(shown.replace(".", "-"))}"]`);
}

// To the panel's button Close, as soon as it is there; from a place in the panel only if that is there no longer.
function enter(tries) {
  const close = document.querySelector(".st-key-close_panel button");
  const inside = panel()?.contains(document.activeElement);
  if (close && !inside) close.focus({ preventScroll: true });
  else if (tries) setTimeout(() => enter(tries - 1), 50);
}

function moveKeyboard(kept, shown) {
  const at = focused(), before = kept.open;
  kept.open = shown;
  if (before === undefined || before === shown) return;
  const inside = panel()?.contains(document.activeElement);
  if (shown) {
    // What was pressed may be drawn anew by now, and have lost the keyboard.
    if (!inside) kept.opener = { at: at === document.body && kept.focused ? kept.focused : at, shown };
    enter(40);
  } else if (kept.opener && (inside || at === document.body)) {
    opener(kept.opener)?.focus({ preventScroll: true });
  }
}

// What was asked last: above the answers of a comparison, or in a conversation.
function asked() {
  const questions = document.querySelectorAll('[data-testid="stChatMessage"]:has(> [data-testid="stChatMessageAvatarUser"])');
  return document.querySelector(".st-key-query_question") || [...questions].at(-1);
}

const MOVES = ["wheel", "touchmove", "keydown", "pointerdown"];

// To the question, as soon as there is enough below it for it to stand at the top, and again when the page goes down with what
// comes below it, unless a person goes elsewhere meanwhile.
function reveal(kept, tries) {
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const go = () => {
    const question = asked(), top = question?.getBoundingClientRect().top;
    if (kept.left) return;
    // At once where it has gone out of sight: Streamlit keeps going down against a slow way up.
    if (!(top >= 0 && top < 100)) question?.scrollIntoView({ behavior: calm || top < 0 ? "auto" : "smooth", block: "start" });
    if (tries--) setTimeout(go, 200);
  };
  go();
}

// Sends what a link leads to; gives whether it is one of ours.
function follow(target, send) {
  const link = /^#(passage|calls|check)-(.+)$/.exec(target);
  if (link) send("open", { panel: `${link[1]}.${link[2]}`, at: Date.now() });
  return Boolean(link);
}

// Outlives an element, which may be drawn anew: the conversation in which something is being answered, when the last answer
// ended and when that was drawn, in seconds; what was last announced, of which conversation; and the element that announces it.
let heard = { answering: "", ended: 0, drawn: 0 }, said = { of: "", text: "" }, place;

// Said once the element has been there for a moment: what it holds from the beginning is not read out. An element that is about
// to go may come after the one in its place, with what was drawn before.
function tell(parent, { answering, of, ended, drawn, announcement }) {
  if (drawn < heard.drawn) return;
  place = parent.querySelector('[role="status"]');
  if (said.of !== of) said = { of, text: "" };
  if (place.textContent !== said.text) place.textContent = said.text;
  const before = heard;
  heard = { answering: answering ? of : "", ended, drawn };
  const begun = heard.answering && heard.answering !== before.answering;
  if (begun || ended > before.ended) setTimeout(() => { if (said.of === of) place.textContent = said.text = announcement; }, 150);
}

export default function ({ data, parentElement, setTriggerValue }) {
  let kept = listeners.get(parentElement);
  if (!kept) {
    kept = {};
    kept.onclick = (event) => {
      const link = event.composedPath().find((node) => node instanceof HTMLAnchorElement);
      // Of two clicks at once the second would come with an address that does not tell of the first.
      if (!link || !follow(link.getAttribute("href") || "", event.detail > 1 ? () => {} : kept.send)) return;
      event.preventDefault();
      event.stopPropagation();
    };
    document.addEventListener("click", kept.onclick, true);
    kept.onkey = (event) => {
      if (event.key === "Escape" && panel() && !document.querySelector('[role="dialog"]')) kept.send("open", { panel: "", at: Date.now() });
    };
    document.addEventListener("keydown", kept.onkey);
    kept.onfocus = (event) => {
      if (!event.target.closest(".st-key-panel")) kept.focused = event.composedPath()[0];
      if (kept.open && narrow.matches && panel() && !event.target.closest('.st-key-panel, [role="dialog"], [data-baseweb="popover"]')) enter(0);
    };
    document.addEventListener("focusin", kept.onfocus);
    kept.onmove = () => { kept.left = true; };
    for (const moves of MOVES) addEventListener(moves, kept.onmove, { passive: true });
    listeners.set(parentElement, kept);
    // A link that was pressed before this script was there has led the address to its mark.
    if (follow(location.hash, setTriggerValue)) history.replaceState(history.state, "", location.pathname + location.search);
  }
  kept.send = setTriggerValue;
  tell(parentElement, data);
  moveKeyboard(kept, data.open);
  // What was opened beside the answer before stays in the page until the next one is written.
  if (panel()) panel().style.display = data.answering && !data.open ? "none" : "";
  // A touch screen would unfold its keyboard over the answer.
  if (!data.answering && kept.last !== data.last) {
    kept.last = data.last;
    if (window.matchMedia("(hover: hover)").matches) takeUpAgain(150);
  }
  const asks = data.reveal && kept.revealed !== data.reveal && (data.answering || data.fresh || kept.revealed !== undefined);
  if (asks) kept.left = false;
  if (asks || (kept.answering && !data.answering)) reveal(kept, data.answering ? 75 : 25);
  kept.revealed = data.reveal;
  kept.answering = data.answering;
  for (const link of document.querySelectorAll('a[href^="#passage-"], a[href^="#calls-"], a[href^="#check-"]')) {
    link.removeAttribute("target");
    link.classList.toggle("open", link.getAttribute("href") === `#${data.open.replace(".", "-")}`);
  }
  return () => {
    document.removeEventListener("click", kept.onclick, true);
    document.removeEventListener("keydown", kept.onkey);
    document.removeEventListener("focusin", kept.onfocus);
    for (const moves of MOVES) removeEventListener(moves, kept.onmove);
    listeners.delete(parentElement);
  };
}
