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
        prompts = dict(self._get_prompts())
        parts = self._get_prompt_modules()
        for name in (*prompts, *parts):
            if ":" in name:
                raise ValueError(
                    f"the name {name!r} of a prompt contains a colon, which separates a part from its prompt"
                )
        for part_name, part in parts.items():
            for name, prompt in part.get_prompts().items():
                prompts[f"{part_name}:{name}"] = prompt
        return prompts

    def update_prompts(self, prompts_dict: Mapping[str, Wording]) -> None:
        """Uses these prompts from now on. ValueError for a name that `get_prompts` does not have; then
        nothing changes."""
        current = self.get_prompts()
        unknown = sorted(prompts_dict.keys() - current.keys())
        if unknown:
            raise ValueError(f"{type(self).__name__} has no prompt {unknown}; it has {sorted(current)}")
        changes: dict[str, Wording] = {}
        changes_of_parts: dict[str, dict[str, Wording]] = {}
        for name, prompt in prompts_dict.items():
            part_name, colon, name_in_part = name.partition(":")
            if colon:
                changes_of_parts.setdefault(part_name, {})[name_in_part] = prompt
            else:
                changes[name] = prompt
        parts = self._get_prompt_modules()
        for part_name, changes_of_part in changes_of_parts.items():
            parts[part_name].update_prompts(changes_of_part)
        if changes:
            self._update_prompts(changes)

    def _get_prompts(self) -> PromptDictType:
        prompts = {}
        for name, attribute in self.prompt_attributes.items():
            prompt = getattr(self, attribute)
            if prompt is not None:
                prompts[name] = prompt
        return prompts

    def _get_prompt_modules(self) -> PromptMixinType:
        parts = {}
        for name, attribute in self.prompt_parts.items():
            part = getattr(self, attribute)
            if isinstance(part, PromptMixin):
                parts[name] = part
        return parts

    def _update_prompts(self, prompts: Mapping[str, Any]) -> None:
        llm = getattr(self, "_llm", None) or getattr(self, "llm", None)
        for name, prompt in prompts.items():
            attribute = self.prompt_attributes[name]
            setattr(self, attribute, replace_prompt(getattr(self, attribute), prompt, llm))
