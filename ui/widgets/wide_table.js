// Lets the keyboard reach the container that scrolls.
export default function ({ data, parentElement }) {
  const scrolled = (parentElement.getRootNode().host || parentElement).closest(`.st-key-${data.key}`);
  scrolled.tabIndex = 0;
  scrolled.role = "region";
  scrolled.ariaLabel = data.name;
}
