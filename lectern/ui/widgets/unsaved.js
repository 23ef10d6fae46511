// Asks before the page is closed or reloaded while something is not saved.
export default function ({ data }) {
  window.onbeforeunload = data.dirty ? (event) => { event.preventDefault(); return ""; } : null;
  return () => { window.onbeforeunload = null; };
}
