"""Programs: prompts whose answers are objects."""

from ragcore.llamaindex.program.llm_program import (
    FunctionCallingProgram,
    LLMTextCompletionProgram,
    MultiModalLLMCompletionProgram,
    create_flexible_model,
    num_valid_fields,
    process_streaming_content_incremental,
)
