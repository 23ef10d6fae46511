"""The wording of ragcore by the names that LlamaIndex has for its own.

>>> from ragcore.llamaindex.prompts.default_prompts import DEFAULT_TEXT_QA_PROMPT, DEFAULT_TEXT_QA_PROMPT_TMPL
>>> DEFAULT_TEXT_QA_PROMPT.name, "{query_str}" in DEFAULT_TEXT_QA_PROMPT_TMPL
('text_qa', True)
"""

from __future__ import annotations

from ragcore.prompts import wording
from ragcore.prompts.prompt import Prompt

_SAME = ("TEXT_QA", "REFINE", "TREE_SUMMARIZE", "SUMMARY", "HYDE", "CHOICE_SELECT")
_RENAMED = {
    "SIMPLE_INPUT": "GENERATION",
    "KEYWORD_EXTRACT_TEMPLATE": "KEYWORD_EXTRACT",
    "QUERY_KEYWORD_EXTRACT_TEMPLATE": "QUERY_KEYWORD_EXTRACT",
    "SUB_QUESTION": "SUB_QUESTIONS",
}


def __getattr__(name: str) -> Prompt | str:
    kind = name.removeprefix("DEFAULT_").removeprefix("CHAT_")
    is_text, kind = (
        kind.endswith("_TMPL"),
        kind.removesuffix("_TMPL").removesuffix("_PROMPT_SEL").removesuffix("_PROMPT"),
    )
    if name == kind or kind not in (*_SAME, *_RENAMED):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    prompt: Prompt = getattr(wording, _RENAMED.get(kind, kind))
    return prompt.get_template() if is_text else prompt
