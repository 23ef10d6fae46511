// Scrolls a grid to its first marked row, once. The grid may come to stand only a little later.
export default function ({ data, parentElement }) {
  const host = parentElement.getRootNode().host || parentElement;
  if (host.dataset.scrolled === data.of) return;
  let next;
  const scroll = () => {
    const scroller = host.closest(`.st-key-${data.key}`)?.querySelector(".dvn-scroller");
    if (!scroller || scroller.scrollHeight <= scroller.clientHeight) { next = requestAnimationFrame(scroll); return; }
    host.dataset.scrolled = data.of;
    scroller.scrollTop = data.top;
  };
  scroll();
  return () => cancelAnimationFrame(next);
}
