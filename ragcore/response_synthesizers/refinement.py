"""The reply to a call that improves an answer, without remarks of the model about the task."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import closing

from ragcore.llms.base import LLM, LLMCall
from ragcore.prompts.prompt import Origin, as_text
from ragcore.text.keywords import content_words

LARGEST_SHARE = 0.2  # of a remark's words that are those of the question, the earlier answer or the passages
UNDECIDED = 3  # words of a sentence that may still become a remark though none is the prompt's
_SENTENCE = re.compile(r"\s*\S.*?(?:[.!?](?=\s)|[。！？]|\n|$)", re.DOTALL)


def improved_answer(llm: LLM, call: LLMCall) -> Generator[str, None, str]:
    """The improved answer in pieces, and whole; "" for a reply of remarks alone, such as "The passages do not
    help."

    Sentences at the beginning wait until they are complete, as long as they are remarks.
    """
    remarks = _Remarks(call)
    answer = buffer = ""
    with closing(llm.stream(call)) as pieces:
        for piece in pieces:
            buffer += piece
            if not answer:
                buffer = remarks.strip_remarks(buffer, whole=False)
            if answer or remarks.over:
                answer += buffer
                yield buffer
                buffer = ""
            else:
                yield ""  # a sign of life
    if buffer := remarks.strip_remarks(buffer, whole=True):
        answer += buffer
        yield buffer
    return answer


class _Remarks:
    """Detects a remark by its words: some are of the prompt, and hardly any of the question and its
    passages."""

    def __init__(self, call: LLMCall) -> None:
        parts = [part for message in call.messages() for part in message.parts]
        matter = " ".join(
            as_text(call.variables.get(name, "")) for name in ("query_str", "existing_answer", "context_str")
        )
        self._wording = set(
            content_words(" ".join(part.text for part in parts if part.origin is Origin.INSTRUCTIONS))
        )
        self._matter = set(content_words(matter)) - self._wording
        self.over = False  # whether another sentence has begun

    def strip_remarks(self, text: str, *, whole: bool) -> str:
        """The text without remarks at its beginning. Until it is `whole`, its last sentence may become
        one."""
        while not self.over and text.strip():
            sentence = _SENTENCE.match(text)
            if sentence is None:
                return text
            complete = whole or sentence.end() < len(text)
            if not self._may_be_remark(sentence.group(), complete=complete):
                self.over = True
                return text.lstrip()
            if not complete:
                return text
            text = text[sentence.end() :]
        return "" if whole else text

    def _may_be_remark(self, sentence: str, *, complete: bool) -> bool:
        words = set(content_words(sentence if complete else sentence.rpartition(" ")[0]))
        if not words & self._wording and (complete or len(words) >= UNDECIDED):
            return False
        return len(words & self._matter) <= LARGEST_SHARE * len(words)
