"""The wording of ragcore by the names that LlamaIndex has for its own.

>>> from ragcore.prompts.default_prompts import DEFAULT_TEXT_QA_PROMPT, DEFAULT_TEXT_QA_PROMPT_TMPL
>>> DEFAULT_TEXT_QA_PROMPT.name, "{query_str}" in DEFAULT_TEXT_QA_PROMPT_TMPL
('text_qa', True)
"""

from __future__ import annotations

from ragcore.prompts import wording
from ragcore.prompts.prompt import Prompt

_KINDS = {
    "TEXT_QA": "TEXT_QA",
    "REFINE": "REFINE",
    "TREE_SUMMARIZE": "TREE_SUMMARIZE",
    "SUMMARY": "SUMMARY",
    "SIMPLE_INPUT": "GENERATION",
    "HYDE": "HYDE",
    "CHOICE_SELECT": "CHOICE_SELECT",
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
    if name == kind or kind not in _KINDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    prompt: Prompt = getattr(wording, _KINDS[kind])
    return prompt.get_template() if is_text else prompt
