// Asks before the page is closed or reloaded while something is not saved, and leads old links to where their section is now.
export default function ({ data }) {
  const page = data.moved[location.hash.slice(1)];
  if (page) {
    const address = new URL(location.href);
    address.searchParams.set("s", page);
    address.hash = "";
    location.replace(address);
    return;
  }
  window.onbeforeunload = data.dirty ? (event) => { event.preventDefault(); return ""; } : null;
  return () => { window.onbeforeunload = null; };
}
