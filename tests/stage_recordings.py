"""The recordings of stage mode that are shipped, made anew, in some minutes: `python -m tests.stage_recordings`.

They show what the ways of answering do, at the pace of a language model, with replies that were written beforehand: a server on
127.0.0.1 says them through the interface of a model. The recordings name them in place of a model, and so do the screens.
`lectern record` makes recordings with the model that is set; where there are such, they are played in place of these.

What is said goes by the passages of a prompt: each of KNOWN is a phrase of the sample by which its passage is known, and a
reply says what stands in the passages that a call is given, or that the texts it is given cite.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from lectern.library import Library
from lectern.runs.recorded_demo import PREPARED, RECORDED, Recording
from lectern.settings import LLMSettings
from sample.record import Part, record, write
from tests.scripted_server import Fault, Request, ScriptedServer, ToolCalls

WINDOWS: Mapping[Part, int] = {"chat": 8192, "query": 1024}  # tokens: in the small one, two or three passages fit in a call
NUM_OUTPUT = 256
FIRST_WORD_SECONDS, WORDS_PER_SECOND = 0.5, 28.0  # as of a small model on a good laptop
TOOL = "query_engine_tool"
NOTHING_SHOWN = (
    "I was not shown any of your documents, so I cannot know which railway is meant. A way of answering that looks in your "
    "documents can say it."
)

KNOWN = {
    "report": "recommend a limit of 38 miles per hour",
    "asked": "recommended that the railway stop at gusts of 38",
    "minutes": "limit be 40 miles per hour from reopening",
    "visitors": "We stop at gusts of 40 miles per hour",
    "nine": "The railway had closed for wind on nine days",
    "later": "Year: 2017; Passengers",
    "earlier": "Year: 2014; Passengers",
    "works": "seven pieces of work at an estimated cost",
}


class Replies:
    """`numbers`: of the passages in the prompts of the answer that is being made. `requests`: those of the server."""

    def __init__(self) -> None:
        self.numbers: dict[str, str] = {}
        self.requests: Sequence[Request] = ()

    def __call__(self, messages: Sequence[Mapping[str, Any]]) -> str:
        last = str(messages[-1]["content"])
        prompt = "\n".join(str(message["content"]) for message in messages if message["role"] in ("system", "user"))
        if last.startswith("A conversation, and the message"):
            return _alone(last.rpartition("Message: ")[2])
        if self.tool_calls(messages):
            return ""
        if messages[-1]["role"] == "tool":
            return last
        if "You answer with the help of tools." in prompt:
            if last.startswith("Observation:"):
                return f"Thought: I can answer now.\nAnswer: {last.removeprefix('Observation:').strip()}"
            return f'Thought: I need to look in the documents.\nAction: {TOOL}\nAction Input: {{"input": "{_alone(last)}"}}'
        if "assages" not in prompt:
            return NOTHING_SHOWN
        return self._about(last, prompt)

    def tool_calls(self, messages: Sequence[Mapping[str, Any]]) -> ToolCalls:
        """One, where tools are given and have not been called yet."""
        last = messages[-1]
        if "tools" not in self.requests[-1].body or last["role"] != "user":
            return ()
        arguments = f'{{"input": "{_alone(str(last["content"]))}"}}'
        return [{"id": "call_1", "type": "function", "function": {"name": TOOL, "arguments": arguments}}]

    def _about(self, last: str, prompt: str) -> str:
        for number, passage in re.findall(r"^\[(\d+)\] (.*?)(?=^\[\d+\] |\Z)", prompt, re.DOTALL | re.MULTILINE):
            text = " ".join(passage.split())
            self.numbers |= {key: number for key, phrase in KNOWN.items() if phrase in text}
        given = last if "assages" in last else prompt
        known = {key for key, number in self.numbers.items() if f"[{number}]" in given}
        asked = re.search(r"^Question: (.*)", last, re.MULTILINE)
        parts = _recommended(known) if "Greaves" in (asked[1] if asked else last) else _limit(known)
        return re.sub(r"\[(\w+)\]", lambda cited: f"[{self.numbers[cited[1]]}]", " ".join(parts))


def _alone(message: str) -> str:
    """The question of the stage in words that need no conversation."""
    if "Greaves" in message:
        return "What did Dr Greaves recommend about the wind?"
    return message.partition("\n")[0].strip()


def _limit(known: Collection[str]) -> list[str]:
    said = []
    if "visitors" in known:
        measured = "measured on the roof of the upper station; the cars start again when it has been below 35 for half an hour"
        said.append(f"The limit is 40 miles per hour, {measured} [visitors].")
    if "minutes" in known:
        chosen = "The committee chose that" if said else "The limit is 40 miles per hour: the committee resolved it"
        said.append(f"{chosen} on the condition that no car runs empty upward in a wind above 35 [minutes].")
    if said and "report" in known:
        said.append("Before, it was 45, and the engineer had recommended 38 [report].")
    elif said and "visitors" in known:
        said.append("Until 2022 it was 45 [visitors].")
    elif "report" in known:
        said.append("The handbook of 2021 stops the railway at gusts of 45 miles per hour.")
        said.append("The engineer found no calculation behind that number and recommends a limit of 38 [report].")
    if "nine" in known:
        said.append("In one season since, the wind closed the railway on nine days [nine].")
    if not said and "later" in known:
        said.append("No limit is named here; from 2017 to 2022 wind closed the railway on two to five days a year [later].")
    if not said and "earlier" in known:
        said.append("No limit is named here; wind closed the railway on 6, 4 and 11 days in the years from 2014 [earlier].")
    return said or ["I could not find it in the documents."]


def _recommended(known: Collection[str]) -> list[str]:
    said = []
    if known & {"report", "asked"}:
        cited = "".join(f"[{key}]" for key in ("report", "asked") if key in known)
        said.append(f"Dr Greaves recommended that the railway stop at gusts of 38 miles per hour {cited}.")
    if "minutes" in known:
        said.append("In the committee she then agreed to 40, if no car runs empty upward in a wind above 35 [minutes].")
    if "works" in known:
        said.append("Her report also asks for seven pieces of work, at about £186,000, and for fewer passengers [works].")
    return said or ["I could not find it in the documents."]


def main() -> None:
    made: list[Recording] = []
    replies = Replies()

    def told(one: Recording) -> None:
        replies.numbers.clear()
        said = "".join(piece for _, piece in one.pieces)
        print(f"{one.name}: {one.facts.calls} calls, {one.facts.seconds:.1f} s\n    {said}", flush=True)

    said_so = Fault(delay=FIRST_WORD_SECONDS, usage=False)
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedServer(
            replies, models=[PREPARED], always=said_so, words_per_second=WORDS_PER_SECOND, tool_calls=replies.tool_calls
        ) as server,
    ):
        replies.requests = server.requests
        library = Library(Path(folder))
        try:
            for part, window in WINDOWS.items():
                model = LLMSettings(
                    provider="openai_compatible",
                    base_url=f"{server.url}/v1",
                    model=PREPARED,
                    context_window=window,
                    num_output=NUM_OUTPUT,
                    calls_functions=True,
                )
                library.update_settings(library.settings.model_copy(update={"llm": model}))
                made += record(library, told, parts=[part])
        finally:
            library.close()
    for path in RECORDED.glob("*.json"):
        path.unlink()
    write(made, RECORDED)


if __name__ == "__main__":
    main()
