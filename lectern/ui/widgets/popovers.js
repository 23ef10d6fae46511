// What a button opens lies at the end of the page, far from the button for who goes by the keyboard. So its first field has the
// keyboard when the button is pressed with a key, Tab leads from its ends back to the button, and when it closes itself the
// keyboard is where it was opened from.
const BODY = '[data-testid="stPopoverBody"]', BUTTON = '[data-testid="stPopoverButton"]';
const FIELDS = "button, input, textarea, select, a[href], summary, [tabindex]";
const MENU = '[data-testid="stMainMenuList"]', MENU_BUTTON = '[data-testid="stMainMenuButton"]'; // of which some entries are hidden
let changes, open = null, place = 0, menu = null;

const buttons = () => [...document.querySelectorAll(BUTTON)];
const within = (root) => [...root.querySelectorAll("*")].flatMap((one) => [one, ...(one.shadowRoot ? within(one.shadowRoot) : [])]);
const pressed = (one) => one.matches(FIELDS) && !one.disabled && one.getClientRects().length;
const fields = (body, alsoByArrows) => within(body).filter((one) => pressed(one) && (alsoByArrows || one.tabIndex >= 0));

function look() {
  const body = document.querySelector(BODY);
  if (body && body !== open) {
    if (body.querySelector('[data-testid="stSkeleton"]')) return; // not all is drawn yet
    const button = buttons().find((one) => one.getAttribute("aria-expanded") === "true");
    place = buttons().indexOf(button);
    if (button?.matches(":focus-visible")) {
      const first = fields(body).find((one) => one.matches("input, textarea, select, [role=radio]")) || fields(body)[0];
      if (!first) body.tabIndex = -1; // what is in it comes later, and is next
      (first || body).focus();
    }
  }
  if (open && !body && (document.activeElement === document.body || !document.activeElement)) buttons()[place]?.focus();
  open = body;
  const list = document.querySelector(MENU);
  if (list && list !== menu) fields(list, true)[0]?.focus();
  menu = list;
}

function lead(event) {
  if (event.key === "Tab" && event.target.closest?.(MENU)) {
    event.stopPropagation(); // Streamlit would lead to the hidden ones
    const button = document.querySelector(MENU_BUTTON);
    button.click();
    button.focus();
    if (event.shiftKey) event.preventDefault();
    return;
  }
  const body = event.key === "Tab" && event.target.closest?.(BODY);
  if (!body) return;
  const all = fields(body), end = event.shiftKey ? all[0] : all.at(-1);
  if (event.composedPath()[0] !== end) return;
  buttons()[place]?.focus();
  if (event.shiftKey) event.preventDefault(); // forward, the keyboard goes on to what is after the button
}

export default function () {
  changes?.disconnect();
  changes = new MutationObserver(look);
  changes.observe(document.body, { childList: true, subtree: true });
  document.addEventListener("keydown", lead, true);
  return () => { changes.disconnect(); document.removeEventListener("keydown", lead, true); };
}
