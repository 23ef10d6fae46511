"""Tools that load documents while an agent works, and let its model read answers about them instead of all of
them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pydantic import BaseModel

from ragcore.indices.base import BaseIndex
from ragcore.indices.vector import VectorStoreIndex
from ragcore.llamaindex.tools.tool_spec.base import BaseToolSpec
from ragcore.schema import Document
from ragcore.tools import FunctionTool, ToolMetadata


class OnDemandLoaderTool(FunctionTool):
    """Loads documents with a reader, and answers a question about them; they are loaded anew for each call.

    >>> from ragcore.readers import StringIterableReader
    >>> OnDemandLoaderTool.from_defaults(StringIterableReader(), name="read").metadata.name
    'read'
    """

    @classmethod
    def from_defaults(  # type: ignore[override]  # a reader instead of a function
        cls,
        reader: Any,
        index_cls: type[BaseIndex] = VectorStoreIndex,
        index_kwargs: Mapping[str, Any] | None = None,
        name: str | None = None,
        description: str | None = None,
        fn_schema: type[BaseModel] | None = None,
    ) -> OnDemandLoaderTool:
        """`fn_schema` has the arguments of the reader's `load_data`, and `query_str`."""

        def answer(*args: Any, query_str: str, **kwargs: Any) -> Any:
            documents = _documents(reader.load_data(*args, **kwargs))
            return (
                index_cls.from_documents(documents, **index_kwargs or {}).as_query_engine().query(query_str)
            )

        return cls(
            answer,
            FunctionTool.from_defaults(reader.load_data, name, description, fn_schema=fn_schema).metadata,
        )


class LoadAndSearchToolSpec(BaseToolSpec):
    """Two tools instead of one that returns long texts: the first puts them into an index, the second answers
    from it.

    >>> def look_up(title: str) -> list[str]:
    ...     return ["A lectern is a reading desk."]
    >>> spec = LoadAndSearchToolSpec.from_defaults(FunctionTool.from_defaults(look_up))
    >>> [tool.metadata.name for tool in spec.to_tool_list()]
    ['look_up', 'read_look_up']
    """

    def __init__(
        self,
        tool: FunctionTool,
        index_cls: type[BaseIndex],
        index_kwargs: Mapping[str, Any],
        metadata: ToolMetadata,
    ) -> None:
        """ValueError for metadata without a name."""
        if not metadata.name:
            raise ValueError("Tool name cannot be None or empty.")
        self.metadata = metadata
        self.spec_functions = [metadata.name, f"read_{metadata.name}"]
        self._tool = tool
        self._build: Callable[..., BaseIndex] = partial(index_cls.from_documents, **index_kwargs)
        self._index: BaseIndex | None = None

    @classmethod
    def from_defaults(
        cls,
        tool: FunctionTool,
        index_cls: type[BaseIndex] = VectorStoreIndex,
        index_kwargs: Mapping[str, Any] | None = None,
        name: str | None = None,
        description: str | None = None,
    ) -> LoadAndSearchToolSpec:
        about = tool.metadata
        metadata = ToolMetadata(description or about.description, name or about.name, about.fn_schema)
        return cls(tool, index_cls, index_kwargs or {}, metadata)

    def to_tool_list(self, *_: object) -> list[FunctionTool]:
        load, read = self.metadata.name, f"read_{self.metadata.name}"
        about = f"{self.metadata.description}\nLoads what {load} finds. Then call {read} to search it."
        search = (
            f"Searches what {load} has loaded: call it to read the answer to a question. Call {load} first."
        )
        loader = FunctionTool.from_defaults(self.load, load, about, fn_schema=self.metadata.fn_schema)
        return [loader, FunctionTool.from_defaults(self.read, read, search)]

    def load(self, *args: Any, **kwargs: Any) -> str:
        """Adds content to the index; the text for the model says how to go on."""
        documents = _documents(self._tool.call(*args, **kwargs).raw_output)
        if self._index is None:
            self._index = self._build(documents)
        else:
            for document in documents:
                self._index.insert(document)
        return f"Content loaded! Search it with {self.spec_functions[1]}."

    def read(self, query: str) -> str:
        """The answer from what is loaded, or a text that nothing is loaded."""
        if self._index is None:
            return f"Error: No content has been loaded. Call {self.spec_functions[0]} first."
        return str(self._index.as_query_engine().query(query))


def _documents(result: Any) -> list[Document]:
    """A document for each text or object that a tool or a reader returns."""
    items = result if isinstance(result, list | tuple) else [result]
    return [item if isinstance(item, Document) else Document(str(item)) for item in items]
