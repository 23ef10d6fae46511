// Tells browsers and screen readers which language the page is in.
export default function ({ data }) {
  document.documentElement.lang = data.language;
}
