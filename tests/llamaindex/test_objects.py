"""Objects are found by their texts, and are the very objects that were given."""

from __future__ import annotations

import asyncio

from ragcore.agent import FunctionCallingAgent
from ragcore.embeddings.hashing import HashEmbedding
from ragcore.llamaindex.objects.base import ObjectIndex, ObjectRetriever
from ragcore.llms.scripted import ScriptedLLM
from ragcore.llms.tool_call import ToolCall
from ragcore.schema import TextNode
from ragcore.tools import BaseTool, FunctionTool

EMBEDDER = HashEmbedding(64)


def multiply(a: int, b: int) -> int:
    """Multiply two whole numbers and give their product."""
    return a * b


def weather(city: str) -> str:
    """Tell the weather of a city: rain, wind, sunshine."""
    return f"Rain in {city}."


def rename(old: str, new: str) -> str:
    """Rename a file in the archive."""
    return f"{old} is now {new}"


TOOLS: list[BaseTool] = [FunctionTool.from_defaults(fn) for fn in (multiply, weather, rename)]


def test_tools_are_retrieved_by_name_and_description() -> None:
    retriever = ObjectIndex.from_objects(TOOLS, embed_model=EMBEDDER).as_retriever(similarity_top_k=1)
    assert isinstance(retriever, ObjectRetriever)
    assert retriever.retrieve("Is there wind and rain in the city?") == [TOOLS[1]]
    assert asyncio.run(retriever.aretrieve("rename the file")) == [TOOLS[2]]
    assert (
        len(
            ObjectIndex.from_objects(TOOLS, embed_model=EMBEDDER)
            .as_retriever()
            .retrieve("product of numbers")
        )
        == 2
    )


def test_objects_match_by_their_texts_and_may_be_added_later() -> None:
    index = ObjectIndex.from_objects([{"bird": "heron"}], embed_model=EMBEDDER)
    index.insert_object({"bird": "owl"})
    assert index.as_retriever(1).retrieve("owl") == [{"bird": "owl"}]
    by_last = ObjectIndex.from_objects(
        [("x", "owl"), ("owl", "y")], to_node_fn=lambda pair: TextNode(pair[1]), embed_model=EMBEDDER
    )
    assert by_last.as_retriever(1).retrieve("owl") == [("x", "owl")]
    assert ObjectIndex.from_objects([], embed_model=EMBEDDER).as_retriever().retrieve("owl") == []


def test_an_agent_is_offered_the_tools_that_fit_its_message() -> None:
    shelf = ObjectIndex.from_objects(TOOLS, embed_model=EMBEDDER).as_retriever(similarity_top_k=1)
    llm = ScriptedLLM(
        [ToolCall.of("c", "weather", '{"city": "Bath"}'), "It rains."], is_function_calling_model=True
    )
    agent = FunctionCallingAgent.from_tools(tool_retriever=shelf, llm=llm)
    assert agent.chat("What is the weather of the city of Bath?").sources[0].content == "Rain in Bath."
    assert [tool["function"]["name"] for tool in llm.calls[0].call.tools] == ["weather"]
