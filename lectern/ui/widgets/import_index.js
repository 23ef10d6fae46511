// Sends a copy of a library to the server, which makes an index of it.
export default function ({ data, parentElement, setTriggerValue }) {
  const button = parentElement.querySelector("button");
  const input = parentElement.querySelector("input");
  const status = parentElement.querySelector("span");
  const say = (text, failed) => {
    status.textContent = text;
    status.className = failed ? "failed" : "";
  };
  const ended = (text) => {
    say(text, Boolean(text));
    button.disabled = false;
    input.value = "";
  };
  button.textContent = data.words.choose;
  button.onclick = () => input.click();
  input.onchange = () => {
    const file = input.files[0];
    if (!file) return;
    button.disabled = true;
    const request = new XMLHttpRequest(); // fetch does not tell how much has been sent
    request.open("PUT", `${data.address}?name=${encodeURIComponent(file.name)}`);
    request.setRequestHeader("X-Lectern-Ticket", data.ticket);
    request.responseType = "json";
    request.upload.onprogress = ({ loaded, total }) => say(data.words.sending.replace("{percent}", Math.floor((100 * loaded) / Math.max(total, 1))));
    request.onerror = () => ended(data.words.lost);
    request.onload = () => {
      const said = request.response || {};
      if (request.status === 200) setTriggerValue("sent", { id: said.id, at: Date.now() });
      ended(request.status === 200 ? "" : `${said.what || data.words.lost} ${said.hint || ""}`);
    };
    request.send(file);
  };
}
