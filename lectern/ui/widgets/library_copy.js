// Has a copy of the library made, and lets the browser download it as it does any file: nothing of it is held in memory.
export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button");
  const status = parentElement.querySelector("span");
  const say = (text, failed) => {
    status.textContent = text;
    status.className = failed ? "failed" : "";
  };
  button.textContent = data.words.download;
  button.onclick = async () => {
    button.disabled = true;
    say(data.words.making);
    try {
      const answer = await fetch(data.address, { method: "POST", headers: { "X-Lectern-Ticket": data.ticket } });
      const said = await answer.json();
      if (answer.ok) {
        const link = document.createElement("a");
        link.href = `${data.address}/${said.id}`;
        link.download = "";
        link.click();
        say(data.words.downloading);
      } else {
        say(`${said.what} ${said.hint}`, true);
      }
    } catch {
      say(data.words.lost, true);
    }
    button.disabled = false;
  };
}
