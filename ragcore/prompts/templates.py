"""Templates of a script with {names}, for one message or several, or chosen by the model.

A template is a Prompt. Only the {names} that get a value are replaced, each once. {{ and }} are braces, and
other braces stay, so that a template may contain JSON, see `ragcore.text.braces`. Braces in a value are text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from ragcore.prompts.prompt import (
    ORIGINS,
    Origin,
    Part,
    Prompt,
    RenderedMessage,
    Task,
    Variables,
    as_text,
    delimit,
    with_history,
)
from ragcore.schema import ChatMessage, MessageRole
from ragcore.text.braces import Field, split_template

_ALIASES = {"context_msg": "context_str"}  # LlamaIndex's name of the passages in a refine template

Model: TypeAlias = Any  # an LLM; prompts are below it and do not know it
FunctionMappings: TypeAlias = Mapping[str, Callable[..., str]]


class BaseOutputParser(ABC):
    """Subclasses have `parse`, and may have `format`, which adds the format of the answer to a prompt.

    >>> class Lines(BaseOutputParser):
    ...     def parse(self, output):
    ...         return output.splitlines()
    >>> Lines().parse("Ada\\nBob")
    ['Ada', 'Bob']
    """

    @abstractmethod
    def parse(self, output: str) -> Any:
        """The value of a model's answer."""

    def format(self, query: str) -> str:
        """The text of a prompt with the format."""
        return query


def get_template_vars(template_str: str) -> list[str]:
    """The names in a template, in order, each once.

    >>> get_template_vars("Who wrote {book} in {year}?")
    ['book', 'year']
    """
    fields = (part.name for part in split_template(template_str) if isinstance(part, Field))
    return list(dict.fromkeys(fields))


@dataclass(frozen=True, init=False)
class PromptTemplate(Prompt):
    """One message of the user.

    `template_var_mappings`: {"query_str": "my_question"} if {my_question} in the template is query_str.
    `function_mappings`: a function of all values, by name, returns the text of a variable. `output_parser`:
    its `format` is added to the message, or to a first message of the system; it does not parse the answer.

    >>> template = PromptTemplate("Who wrote {book} in {year}?")
    >>> template.partial_format(year="1843").format(book="the notes")
    'Who wrote the notes in 1843?'
    """

    template_var_mappings: Mapping[str, str] = field(default_factory=dict)
    function_mappings: FunctionMappings = field(default_factory=dict)
    fixed: Variables = field(default_factory=dict)  # by partial_format
    output_parser: BaseOutputParser | None = None

    def __init__(
        self,
        template: str = "",
        template_var_mappings: Mapping[str, str] | None = None,
        function_mappings: FunctionMappings | None = None,
        *,
        name: str = "template",
        task: Task = Task.GENERATE,
        messages: Sequence[ChatMessage] | None = None,
        fixed: Variables | None = None,
        output_parser: BaseOutputParser | None = None,
        stop: Sequence[str] = (),
        prompt_type: str | None = None,
    ) -> None:
        """`prompt_type` is another word for `name`, which traces use."""
        name = str(getattr(prompt_type, "value", prompt_type)) if prompt_type and name == "template" else name
        all_messages = (ChatMessage(MessageRole.USER, template),) if messages is None else tuple(messages)
        values = {"name": name, "task": task, "messages": all_messages, "stop": tuple(stop)}
        values |= {"fixed": dict(fixed or {}), "output_parser": output_parser}
        mappings = {
            "template_var_mappings": template_var_mappings or {},
            "function_mappings": function_mappings or {},
        }
        for attribute, value in {**values, **mappings}.items():
            object.__setattr__(self, attribute, value)

    @property
    def variables(self) -> frozenset[str]:
        """The names of the missing values."""
        return frozenset(map(self._variable_of, self.template_vars)) - self.fixed.keys()

    def check_variables(self, variables: Variables) -> Variables:
        """As of any prompt; a value with a function may be missing."""
        missing = self.variables & self.function_mappings.keys() - variables.keys()
        Prompt.check_variables(self, {**variables, **dict.fromkeys(missing, "")})
        return variables

    @property
    def template_vars(self) -> list[str]:
        """The names in the template, in order."""
        names = (name for message in self.messages for name in get_template_vars(message.content))
        return list(dict.fromkeys(names))

    @property
    def kwargs(self) -> Variables:
        """The values of `partial_format`."""
        return self.fixed

    def partial_format(self, **values: Any) -> PromptTemplate:
        """A template that has these values; this one stays as it is."""
        return replace(self, fixed={**self.fixed, **values})

    def format_messages(self, llm: Model = None, **values: Any) -> list[ChatMessage]:
        """The messages with these values. A {name} without one stays as it is."""
        return [ChatMessage(message.role, message.content) for message in self.render(values)]

    def format(self, llm: Model = None, **values: Any) -> str:
        """The text with these values."""
        return "\n".join(message.content for message in self.render(values))

    def render(self, variables: Variables, history: Sequence[ChatMessage] = ()) -> list[RenderedMessage]:
        values = {**self.fixed, **variables}
        bare = {name: as_text(value) for name, value in values.items()}
        computed = {name: function(**bare) for name, function in self.function_mappings.items()}
        texts = {
            name: delimit(name, values.get(name, ""), text) for name, text in {**bare, **computed}.items()
        }
        rendered = [
            RenderedMessage(message.role, tuple(self._parts(message.content, texts)))
            for message in self.messages
        ]
        if self.output_parser is not None and rendered:
            place = 0 if rendered[0].role is MessageRole.SYSTEM else -1
            rendered[place] = _add_format(rendered[place], self.output_parser)
        return with_history(rendered, history)

    def _parts(self, template: str, texts: Mapping[str, str]) -> Iterator[Part]:
        for part in split_template(template, lambda name: self._variable_of(name) in texts):
            if isinstance(part, str):
                yield Part(Origin.INSTRUCTIONS, part)
                continue
            name = self._variable_of(part.name)
            if text := texts[name]:
                yield Part(ORIGINS.get(name, Origin.INSTRUCTIONS), text)

    def _variable_of(self, name: str) -> str:
        mapped = {in_template: variable for variable, in_template in self.template_var_mappings.items()}
        return mapped.get(name) or _ALIASES.get(name, name)


@dataclass(frozen=True, init=False)
class ChatPromptTemplate(PromptTemplate):
    """Several messages, each with its role.

    >>> template = ChatPromptTemplate(
    ...     [ChatMessage("system", "You write {style}."), ChatMessage("user", "{topic}")]
    ... )
    >>> [str(message) for message in template.format_messages(style="verse", topic="rain")]
    ['system: You write verse.', 'user: rain']
    """

    def __init__(
        self,
        message_templates: Sequence[ChatMessage] = (),
        *mappings: Any,
        messages: Sequence[ChatMessage] | None = None,
        **options: Any,
    ) -> None:
        """The other arguments are those of PromptTemplate."""
        messages = message_templates if messages is None else messages
        PromptTemplate.__init__(self, "", *mappings, messages=messages, **options)

    @classmethod
    def from_messages(cls, messages: Sequence[ChatMessage | tuple[str, str]]) -> ChatPromptTemplate:
        """Also from pairs of role and text: ("system", "You are brief.")."""
        return cls(
            [
                message
                if isinstance(message, ChatMessage)
                else ChatMessage(MessageRole(message[0]), message[1])
                for message in messages
            ]
        )

    def format(self, llm: Model = None, **values: Any) -> str:
        """One text for models that complete text: a line for each message with its role, and "assistant: " to
        go on from."""
        lines = [f"{message.role.value}: {message.content}" for message in self.render(values)]
        return "\n".join([*lines, f"{MessageRole.ASSISTANT.value}: "])


@dataclass(frozen=True, slots=True)
class SelectorPromptTemplate:
    """The first template whose condition the model meets, else the default.

    >>> from ragcore.llms import MockLLM
    >>> chat = ChatPromptTemplate([ChatMessage("user", "Chat about {topic}.")])
    >>> template = SelectorPromptTemplate(PromptTemplate("Write about {topic}."), [(is_chat_model, chat)])
    >>> template.format(topic="rain")
    'Write about rain.'
    >>> template.format_messages(MockLLM(), topic="rain")[0].content
    'Chat about rain.'
    """

    default_template: Prompt
    conditionals: Sequence[tuple[Callable[[Model], bool], Prompt]] = ()

    def select(self, llm: Model = None) -> Prompt:
        """The default without a model."""
        if llm is None:
            return self.default_template
        return next(
            (template for condition, template in self.conditionals if condition(llm)), self.default_template
        )

    def partial_format(self, **values: Any) -> SelectorPromptTemplate:
        conditionals = [
            (condition, _template(prompt).partial_format(**values)) for condition, prompt in self.conditionals
        ]
        return SelectorPromptTemplate(_template(self.default_template).partial_format(**values), conditionals)

    def format(self, llm: Model = None, **values: Any) -> str:
        return _template(self.select(llm)).format(llm, **values)

    def format_messages(self, llm: Model = None, **values: Any) -> list[ChatMessage]:
        return _template(self.select(llm)).format_messages(llm, **values)


def _add_format(message: RenderedMessage, parser: BaseOutputParser) -> RenderedMessage:
    """The text that the parser adds is an instruction, or the whole text if the parser changes it."""
    new, old = parser.format(message.content), message.content
    if (place := new.find(old)) < 0:
        return replace(message, parts=(Part(Origin.INSTRUCTIONS, new),))
    before, after = Part(Origin.INSTRUCTIONS, new[:place]), Part(Origin.INSTRUCTIONS, new[place + len(old) :])
    parts = (before, *message.parts, after)
    return replace(message, parts=tuple(part for part in parts if part.text))


Wording: TypeAlias = Prompt | SelectorPromptTemplate | str


def replace_prompt(ours: Prompt, wording: Wording, llm: Model) -> Prompt:
    """The prompt that replaces one of ours. A template or text gets its name, task and stops; a whole Prompt
    has its own."""
    if isinstance(wording, str):
        wording = PromptTemplate(wording)
    chosen = wording.select(llm) if isinstance(wording, SelectorPromptTemplate) else wording
    if not isinstance(chosen, PromptTemplate):
        return chosen
    return replace(chosen, name=ours.name, task=ours.task, stop=ours.stop)


def is_chat_model(llm: Model) -> bool:
    """Whether a model takes messages: a condition for SelectorPromptTemplate.

    >>> from ragcore.llms import MockLLM
    >>> is_chat_model(MockLLM())
    True
    """
    return bool(llm.metadata.is_chat_model)


def _template(prompt: Prompt) -> PromptTemplate:
    return (
        prompt
        if isinstance(prompt, PromptTemplate)
        else ChatPromptTemplate(prompt.messages, name=prompt.name)
    )
