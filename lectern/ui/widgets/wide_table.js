// Lets the keyboard reach the container that scrolls, in which this may come to stand only a little later.
export default function ({ data, parentElement }) {
  let next;
  const reach = () => {
    const scrolled = (parentElement.getRootNode().host || parentElement).closest(`.st-key-${data.key}`);
    if (!scrolled) { next = requestAnimationFrame(reach); return; }
    scrolled.tabIndex = 0;
    scrolled.role = "region";
    scrolled.ariaLabel = data.name;
  };
  reach();
  return () => cancelAnimationFrame(next);
}
