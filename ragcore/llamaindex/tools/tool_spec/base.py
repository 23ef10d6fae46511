"""Classes whose methods are tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragcore.concurrency import awaitable
from ragcore.prompts.tool_schema import create_schema_from_function as create_schema_from_function
from ragcore.tools import FunctionTool, ToolMetadata


class BaseToolSpec:
    """A class whose methods are tools. `spec_functions` are their names, or pairs of a method and its async
    version.

    >>> class Greeter(BaseToolSpec):
    ...     spec_functions = ["greet"]
    ...
    ...     def greet(self, name: str) -> str:
    ...         return f"Hello, {name}"
    >>> [tool.metadata.name for tool in Greeter().to_tool_list()]
    ['greet']
    """

    spec_functions: Sequence[str | tuple[str, str]] = ()

    def to_tool_list(
        self,
        spec_functions: Sequence[str | tuple[str, str]] | None = None,
        func_to_metadata_mapping: Mapping[str, ToolMetadata] | None = None,
    ) -> list[FunctionTool]:
        """`func_to_metadata_mapping` has the metadata of some methods, by their names."""
        tools = []
        for names in spec_functions or self.spec_functions:
            name, async_name = (names, f"a{names}") if isinstance(names, str) else names
            metadata = (func_to_metadata_mapping or {}).get(name)
            async_fn = getattr(self, async_name, None)
            tools.append(
                FunctionTool.from_defaults(getattr(self, name), async_fn=async_fn, tool_metadata=metadata)
            )
        return tools

    to_tool_list_async = awaitable(to_tool_list)
