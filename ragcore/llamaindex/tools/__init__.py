"""Tools, also those that load documents while an agent works."""

from typing import TYPE_CHECKING

from ragcore.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ragcore.llamaindex.tools.loading_tools import LoadAndSearchToolSpec, OnDemandLoaderTool
    from ragcore.llamaindex.tools.tool_spec.base import BaseToolSpec
    from ragcore.tools import (
        BaseTool,
        FunctionTool,
        QueryEngineTool,
        RetrieverTool,
        ToolMetadata,
        ToolOutput,
        ToolSelection,
        tool,
    )
else:
    __getattr__, __all__ = lazy_exports(__name__, __file__)
