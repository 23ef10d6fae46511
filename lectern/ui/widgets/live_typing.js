// What is typed is taken up in every pause of the typing, as if Control and Enter had been pressed.
const PAUSE = 400; // milliseconds
const fields = new WeakMap();

function takeUp(kept) {
  if (!kept.now || !kept.typed) return;
  kept.typed.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", keyCode: 13, ctrlKey: true, bubbles: true }));
  kept.typed = null;
}

export default function ({ data, parentElement }) {
  let kept = fields.get(parentElement);
  if (!kept) {
    kept = {};
    kept.oninput = (event) => {
      clearTimeout(kept.timer);
      // Half a word of an input method is no word.
      if (event.isComposing || !event.target.closest?.(`.st-key-${CSS.escape(kept.key)}`)) return;
      kept.typed = event.target;
      kept.timer = setTimeout(() => takeUp(kept), PAUSE);
    };
    for (const typing of ["input", "compositionend"]) document.addEventListener(typing, kept.oninput, true);
    fields.set(parentElement, kept);
  }
  kept.key = data.key;
  kept.now = data.now;
  takeUp(kept);
  return () => {
    clearTimeout(kept.timer);
    for (const typing of ["input", "compositionend"]) document.removeEventListener(typing, kept.oninput, true);
    fields.delete(parentElement);
  };
}
