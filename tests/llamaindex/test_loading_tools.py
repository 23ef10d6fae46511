"""Tools that load documents and answer from them."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from ragcore.embeddings import HashEmbedding
from ragcore.llamaindex.tools.loading_tools import LoadAndSearchToolSpec, OnDemandLoaderTool
from ragcore.llms import ScriptedLLM
from ragcore.readers import StringIterableReader
from ragcore.schema import Document
from ragcore.tools import FunctionTool, ToolMetadata, run_tool

TEXTS = {"owls": "Owls hunt at night.", "herons": "Herons fish at dawn."}


class Arguments(BaseModel):
    texts: list[str]
    query_str: str


def look_up(title: str) -> list[str] | Document:
    """Looks up a bird."""
    return [TEXTS[title]] if title == "owls" else Document(TEXTS[title])


def spec(*answers: str, name: str | None = None) -> LoadAndSearchToolSpec:
    options = {"embed_model": HashEmbedding(), "llm": ScriptedLLM(answers)}
    return LoadAndSearchToolSpec.from_defaults(
        FunctionTool.from_defaults(look_up), index_kwargs=options, name=name
    )


def test_a_reader_answers_a_question_about_what_it_loads() -> None:
    llm = ScriptedLLM(["At night [1]."])
    tool = OnDemandLoaderTool.from_defaults(
        StringIterableReader(),
        index_kwargs={"embed_model": HashEmbedding(), "llm": llm},
        name="birds",
        description="Reads about birds.",
        fn_schema=Arguments,
    )
    output = run_tool(tool, {"texts": [TEXTS["owls"]], "query_str": "When do owls hunt?"})
    assert (output.content, output.tool_name, output.is_error) == ("At night [1].", "birds", False)
    assert [hit.text for hit in output.raw_output.source_nodes] == [TEXTS["owls"]]
    assert set(tool.metadata.get_parameters_dict()["properties"]) == {"texts", "query_str"}


def test_one_tool_loads_and_the_other_searches_what_it_loaded() -> None:
    birds = spec("At dawn [1].", name="birds")
    load, read = birds.to_tool_list()
    assert (load.metadata.name, read.metadata.name) == ("birds", "read_birds")
    assert "Looks up a bird." in load.metadata.description
    assert str(read("When?")) == "Error: No content has been loaded. Call birds first."
    for title in TEXTS:
        assert str(load(title=title)) == "Content loaded! Search it with read_birds."
    answer = birds.read("When do herons fish?")
    assert answer == "At dawn [1]."
    assert birds._index is not None
    assert {hit.text for hit in birds._index.as_retriever().retrieve("birds")} == set(TEXTS.values())


def test_tools_need_a_name() -> None:
    tool = FunctionTool.from_defaults(look_up)
    with pytest.raises(ValueError, match="name cannot be None"):
        LoadAndSearchToolSpec(tool, type(spec()._index), {}, ToolMetadata("Looks up a bird."))  # type: ignore[arg-type]
