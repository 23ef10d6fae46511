"""Reads and changes the prompts of an object, such as a query engine, and of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

from ragcore.prompts.prompt import Prompt
from ragcore.prompts.templates import Wording, replace_prompt

PromptDictType: TypeAlias = dict[str, Prompt]
PromptMixinType: TypeAlias = dict[str, "PromptMixin"]


class PromptMixin:
    """`get_prompts` returns the prompts by name, those of a part as "part:name"; `update_prompts` replaces
    some of them.

    A subclass of ragcore names the attributes that have its prompts and its parts. A subclass of a script may
    instead have methods `_get_prompts`, `_get_prompt_modules` and `_update_prompts`.

    >>> from ragcore.llms import ScriptedLLM
    >>> from ragcore.postprocessor import LLMRerank
    >>> rerank = LLMRerank(llm=ScriptedLLM([]))
    >>> rerank.update_prompts({"choice_select_prompt": "Rank {context_str} for {query_str}"})
    >>> rerank.get_prompts()["choice_select_prompt"].get_template()
    'Rank {context_str} for {query_str}'
    """

    # attributes of this object by the names of its prompts
    prompt_attributes: ClassVar[Mapping[str, str]] = {}
    prompt_parts: ClassVar[Mapping[str, str]] = {}  # attributes of this object by the names of its parts

    def get_prompts(self) -> PromptDictType:
        """The current prompts. ValueError if the name of a prompt or a part contains a colon."""
        own, parts = self._get_prompts(), self._get_prompt_modules()
        if wrong := [name for name in (*own, *parts) if ":" in name]:
            raise ValueError(
                f"the name {wrong[0]!r} of a prompt contains a colon, which separates a part from its prompt"
            )
        of_parts = {
            f"{name}:{key}": prompt
            for name, part in parts.items()
            for key, prompt in part.get_prompts().items()
        }
        return {**own, **of_parts}

    def update_prompts(self, prompts_dict: Mapping[str, Wording]) -> None:
        """Uses these prompts from now on. ValueError for a name that `get_prompts` does not have; then
        nothing changes."""
        known = self.get_prompts()
        if unknown := sorted(prompts_dict.keys() - known.keys()):
            raise ValueError(f"{type(self).__name__} has no prompt {unknown}; it has {sorted(known)}")
        for name, part in self._get_prompt_modules().items():
            prefix = f"{name}:"
            if new := {
                key.removeprefix(prefix): prompt
                for key, prompt in prompts_dict.items()
                if key.startswith(prefix)
            }:
                part.update_prompts(new)
        if own := {key: prompt for key, prompt in prompts_dict.items() if ":" not in key}:
            self._update_prompts(own)

    def _get_prompts(self) -> PromptDictType:
        prompts = {name: getattr(self, attribute) for name, attribute in self.prompt_attributes.items()}
        return {name: prompt for name, prompt in prompts.items() if prompt is not None}

    def _get_prompt_modules(self) -> PromptMixinType:
        parts = {name: getattr(self, attribute) for name, attribute in self.prompt_parts.items()}
        return {name: part for name, part in parts.items() if isinstance(part, PromptMixin)}

    def _update_prompts(self, prompts: Mapping[str, Any]) -> None:
        llm = getattr(self, "_llm", None) or getattr(self, "llm", None)
        for name, prompt in prompts.items():
            attribute = self.prompt_attributes[name]
            setattr(self, attribute, replace_prompt(getattr(self, attribute), prompt, llm))
