// Sends a copy of a library to the server, which makes an index of it.
export default function ({ data, parentElement, setTriggerValue }) {
  const button = parentElement.querySelector("button");
  const input = parentElement.querySelector("input");
  const status = parentElement.querySelector("span");
  button.textContent = data.words.choose;
  button.onclick = () => input.click();
  input.onchange = async () => {
    const file = input.files[0];
    if (!file) return;
    button.disabled = true;
    status.textContent = data.words.busy;
    status.className = "";
    try {
      const answer = await fetch(`${data.address}?name=${encodeURIComponent(file.name)}`, {
        method: "PUT",
        headers: { "X-Lectern-Ticket": data.ticket },
        body: file,
      });
      const said = await answer.json();
      status.textContent = answer.ok ? "" : `${said.what} ${said.hint}`;
      status.className = answer.ok ? "" : "failed";
      if (answer.ok) setTriggerValue("made", said);
    } catch {
      status.textContent = data.words.lost;
      status.className = "failed";
    }
    button.disabled = false;
    input.value = "";
  };
}
