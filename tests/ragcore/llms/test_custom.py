"""A model of one's own that goes on from a text takes part in everything; the one that repeats shows what it
was sent."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.indices.vector import VectorStoreIndex
from ragcore.llms import CustomLLM, LLMMetadata, MockLLM
from ragcore.prompts.templates import ChatPromptTemplate, PromptTemplate
from ragcore.schema import ChatMessage, CompletionResponse, Document, MessageRole

HELLO = [ChatMessage(MessageRole.SYSTEM, "Be kind."), ChatMessage(MessageRole.USER, "Hello")]


class Shouting(CustomLLM):
    """Two letters at a time, without saying which are new."""

    metadata = LLMMetadata("shouting", context_window=2000, num_output=100)

    def complete(self, prompt: str) -> CompletionResponse:
        return CompletionResponse(prompt.upper())

    def stream_complete(self, prompt: str) -> Generator[CompletionResponse, None, None]:
        for end in range(2, len(prompt) + 2, 2):
            yield CompletionResponse(prompt[:end].upper())


def test_messages_become_lines_with_roles_and_one_text_stays() -> None:
    llm = Shouting()
    assert llm.chat(HELLO).message.content == "SYSTEM: BE KIND.\nUSER: HELLO\nASSISTANT: "
    assert llm.chat(HELLO[1:]).message.content == "USER: HELLO\nASSISTANT: "
    assert llm.predict(PromptTemplate("say {word}"), word="so") == "SAY SO"
    assert llm.predict(ChatPromptTemplate(HELLO)) == "SYSTEM: BE KIND.\nUSER: HELLO\nASSISTANT: "
    assert asyncio.run(llm.acomplete("so")).text == "SO"


@pytest.mark.parametrize("llm", [Shouting(), MockLLM(), MockLLM(max_tokens=3)])
def test_a_stream_says_what_the_whole_answer_says(llm: CustomLLM) -> None:
    heard = list(llm.stream_chat(HELLO))
    assert len(heard) > 2
    assert (
        "".join(each.delta or "" for each in heard)
        == heard[-1].message.content
        == llm.chat(HELLO).message.content
    )


def test_without_a_stream_of_its_own_the_answer_is_one_piece() -> None:
    class Whole(Shouting):
        stream_complete = CustomLLM.stream_complete

    assert [each.delta for each in Whole().stream_chat(HELLO[1:])] == ["USER: HELLO\nASSISTANT: "]


def test_an_engine_calls_it_and_traces_the_prompt() -> None:
    index = VectorStoreIndex.from_documents(
        [Document("Herons fish.")], embed_model=HashEmbedding(32), llm=Shouting()
    )
    answer = index.as_query_engine(text_qa_template="{context_str} / {query_str}").query("Who fishes?")
    assert "HERONS FISH." in answer.response
    assert answer.response.endswith("/ WHO FISHES?")
    assert answer.trace is not None
    (call,) = answer.trace.spans("llm")
    assert call.facts["model"] == "shouting"
    assert call.facts["completion_tokens"] > 0


def test_the_mock_repeats_the_prompt_or_says_so_many_tokens() -> None:
    assert MockLLM().complete("as  it\nis").text == "as  it\nis"
    assert MockLLM().chat(HELLO[1:]).message.content == "user: Hello\nassistant: "
    assert MockLLM(max_tokens=3).complete("anything").text == "text text text"
    assert MockLLM(max_tokens=3).metadata.num_output == 3
    with pytest.raises(ValueError, match="max_tokens is 0"):
        MockLLM(max_tokens=0)
