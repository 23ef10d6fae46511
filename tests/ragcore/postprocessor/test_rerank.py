"""Reranking by a language model and by a cross-encoder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ragcore.embeddings.hashing import HashEmbedding
from ragcore.errors import ConfigError, QuestionError
from ragcore.extractive.answerer import ExtractiveLLM
from ragcore.llamaindex.postprocessor import AutoPrevNextNodePostprocessor
from ragcore.llms.base import LLMCall
from ragcore.llms.scripted import ScriptedLLM
from ragcore.observe import span
from ragcore.postprocessor import LLMRerank, RankGPTRerank, SentenceTransformerRerank
from ragcore.prompts.document_text import CLOSING, OPENING
from ragcore.prompts.prompt import Passage, Prompt, Task
from ragcore.prompts.templates import PromptTemplate, SelectorPromptTemplate, Wording
from ragcore.schema import ChatMessage, MessageRole, MetadataMode, NodeWithScore, TextNode
from ragcore.storage.docstore import SimpleDocumentStore


def hits(count: int) -> list[NodeWithScore]:
    return [NodeWithScore(TextNode(f"passage {i}", str(i)), 1.0 - i / 100) for i in range(count)]


def ranked(found: Sequence[NodeWithScore]) -> list[tuple[str, float | None]]:
    return [(hit.node.id_, hit.score) for hit in found]


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Doc: 2, Relevance: 7\nDoc: 1, Relevance: 3", [("1", 7.0), ("0", 3.0)]),
        ("Doc: 1, Relevance: 3\nDoc: 2, Relevance: 7", [("1", 7.0), ("0", 3.0)]),
        (
            "Sure! Here they are:\n- **Doc 3** - relevance score: 9/10\n* doc 2, relevance: 4.5",
            [("2", 9.0), ("1", 4.5)],
        ),
        ("Document 2: Relevance = 6", [("1", 6.0)]),
        ("Doc: 9, Relevance: 10\nDoc: 0, Relevance: 10\nDoc: 3, Relevance: 1", [("2", 1.0)]),
        ("Doc: 1, Relevance: 2\nDoc: 1, Relevance: 9", [("0", 2.0)]),
        ("Doc: 2, Relevance: 5\nDoc: 1, Relevance: 5", [("1", 5.0), ("0", 5.0)]),
        ("Doc: 2, Relevance: 85\nDoc: 1, Relevance: -3", [("1", 10.0), ("0", 0.0)]),
        ("Doc: 2\nDoc: 1", [("1", 1.0), ("0", 1.0)]),
        ("[2]: 7", [("1", 7.0)]),
        ("", []),
    ],
)
def test_the_model_says_which_passages_help_and_how_much(
    reply: str, expected: list[tuple[str, float]]
) -> None:
    found = LLMRerank(llm=ScriptedLLM([reply])).postprocess_nodes(hits(3), query_str="why?")
    assert ranked(found) == expected


def test_passages_are_judged_in_tens_and_the_best_of_all_stay() -> None:
    llm = ScriptedLLM(
        ["Doc: 10, Relevance: 4\nDoc: 1, Relevance: 8", "Doc: 2, Relevance: 6", "Doc: 1, Relevance: 9"]
    )
    found = LLMRerank(llm=llm, top_n=3).postprocess_nodes(hits(21), query_str="why?")
    assert ranked(found) == [("20", 9.0), ("0", 8.0), ("11", 6.0)]
    shown = [call.variables["context_str"] for call in llm.calls]
    assert [len(passages) for passages in shown] == [10, 10, 1]
    assert shown[1][0] == Passage("passage 10", 1)
    assert {(call.prompt, call.variables["query_str"]) for call in llm.calls} == {("choice_select", "why?")}
    assert (
        len(
            LLMRerank(llm=ScriptedLLM([""] * 5), choice_batch_size=2).postprocess_nodes(
                hits(9), query_str="why?"
            )
        )
        == 0
    )


def test_unreadable_reply_loses_no_passage_and_is_reported() -> None:
    found = hits(3)
    with span("query") as root:
        kept = LLMRerank(llm=ScriptedLLM(["I like all of them."]), top_n=2).postprocess_nodes(
            found, query_str="why?"
        )
    assert kept == found[:2]
    assert root.spans("rerank")[0].facts == {"unreadable": 1}
    partly = LLMRerank(llm=ScriptedLLM(["???", "Doc: 1, Relevance: 5"]), choice_batch_size=2)
    assert ranked(partly.postprocess_nodes(hits(4), query_str="why?")) == [("2", 5.0)]


@pytest.mark.parametrize("reranker", [LLMRerank, RankGPTRerank])
def test_passages_that_are_too_long_together_lose_their_ends(
    reranker: type[LLMRerank | RankGPTRerank],
) -> None:
    long = [NodeWithScore(TextNode(f"p{number} " * 100, str(number))) for number in range(10)]
    llm = ScriptedLLM(["Doc: 2, Relevance: 7"], context_window=300, num_output=40, counts_words=True)
    with span("root") as root:
        first = reranker(llm=llm, top_n=1).postprocess_nodes(long, query_str="why?")
    assert [hit.node for hit in first] == [long[1].node]
    (call,) = llm.calls
    assert sum(llm.count_tokens(message.content) for message in call.messages) <= 260
    assert [item.text.split()[0] for item in call.variables["context_str"] if isinstance(item, Passage)] == [
        f"p{number}" for number in range(10)
    ]
    assert [step.facts["shortened"] for step in root.walk() if "shortened" in step.facts] == [10]


@pytest.mark.parametrize("reranker", [LLMRerank, RankGPTRerank])
def test_a_reranker_asks_in_words_of_its_own(reranker: type[LLMRerank | RankGPTRerank]) -> None:
    own = Prompt("mine", Task.RANK, (ChatMessage(MessageRole.USER, "Rank {context_str} for {query_str}"),))
    llm = ScriptedLLM(["Doc: 1, Relevance: 7"])
    named = "choice_select_prompt" if reranker is LLMRerank else "rankgpt_rerank_prompt"
    reranker(llm=llm, **{named: own}).postprocess_nodes(hits(1), query_str="why?")  # type: ignore[arg-type]
    assert llm.calls[0].messages[-1].content == f"Rank {OPENING}\n[1]\npassage 0\n{CLOSING} for why?"


def test_without_a_question_there_is_nothing_to_judge_by() -> None:
    for processor in (
        LLMRerank(ScriptedLLM()),
        RankGPTRerank(llm=ScriptedLLM()),
        SentenceTransformerRerank("nowhere"),
    ):
        with pytest.raises(QuestionError, match="no question"):
            processor.postprocess_nodes(hits(2))


def test_the_reader_that_quotes_ranks_too() -> None:
    texts = ["Boats are blue.", "The red fish weighs two pounds.", "Lakes are deep."]
    found = [NodeWithScore(TextNode(text, str(i))) for i, text in enumerate(texts)]
    best = LLMRerank(llm=ExtractiveLLM(HashEmbedding(256))).postprocess_nodes(
        found, query_str="What does the red fish weigh?"
    )
    assert best[0].text == texts[1]


def prefers_high_numbers(call: LLMCall) -> str:
    passages = [item for item in call.variables["context_str"] if isinstance(item, Passage)]
    return "\n".join(f"Doc: {item.number}, Relevance: {item.text.split()[1]}" for item in passages)


@pytest.mark.parametrize("count", [0, 1, 5, 20, 21, 45])
def test_windows_from_back_to_front_raise_the_best_to_the_top(count: int) -> None:
    llm = ScriptedLLM(prefers_high_numbers)
    found = RankGPTRerank(top_n=10, llm=llm).postprocess_nodes(hits(count), query_str="why?")
    best = sorted(range(count), reverse=True)[:10]
    assert ranked(found) == [(str(i), 1.0 - i / 100) for i in best]
    assert all(len(call.variables["context_str"]) <= 20 for call in llm.calls)


def test_window_retains_the_order_of_unnamed_passages() -> None:
    llm = ScriptedLLM(["Doc: 3, Relevance: 5"])
    assert [
        id_ for id_, _ in ranked(RankGPTRerank(llm=llm).postprocess_nodes(hits(4), query_str="why?"))
    ] == [
        "2",
        "0",
        "1",
        "3",
    ]
    found = hits(4)
    assert RankGPTRerank(llm=ScriptedLLM(["no idea"])).postprocess_nodes(found, query_str="why?") == found
    with pytest.raises(ValueError, match="step must be from 1"):
        RankGPTRerank(llm=llm, window_size=5, step=6)


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ("[3] > [1] > [2] > [4]", "2013"),
        ("The ranking is:\n[4]>[2]", "3102"),
        ("[2] > [2] > [9] > [0] > [1]", "1023"),
        ("[2]", "0123"),
    ],
)
def test_an_order_of_numbers_is_read_too(reply: str, order: str) -> None:
    found = RankGPTRerank(llm=ScriptedLLM([reply])).postprocess_nodes(hits(4), query_str="why?")
    assert "".join(hit.node.id_ for hit in found) == order


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A very small model with random weights, as sentence-transformers saves one."""
    import torch
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("model")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "passage", "why", "?", *map(str, range(20))]
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(words), num_labels=1, initializer_range=1.0, **sizes)
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer = BertWordPieceTokenizer(vocab={word: place for place, word in enumerate(words)})
    marks = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer._tokenizer, **marks).save_pretrained(folder)
    return folder


# the latter gives no numbers, so that the processor goes on
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_cross_encoder_ranks_by_its_own_scores(cross_encoder: Path, device: str) -> None:
    from sentence_transformers import CrossEncoder

    reranker = SentenceTransformerRerank(model=str(cross_encoder), top_n=3, device=device)
    found = reranker.postprocess_nodes(hits(8), query_str="why ?")
    alone = CrossEncoder(str(cross_encoder), device="cpu")
    scores = [float(alone.predict([("why ?", f"passage {i}")])[0]) for i in range(8)]
    best = sorted(range(8), key=lambda i: -scores[i])[:3]
    assert [id_ for id_, _ in ranked(found)] == [str(i) for i in best]
    assert [score for _, score in ranked(found)] == pytest.approx([scores[i] for i in best], abs=1e-5)
    assert best != [0, 1, 2]
    keeping = SentenceTransformerRerank(model=str(cross_encoder), device="cpu", keep_retrieval_score=True)
    for hit in keeping.postprocess_nodes(hits(8), query_str="why ?"):
        assert hit.metadata["retrieval_score"] == hits(8)[int(hit.node_id)].score != hit.score
    assert reranker.postprocess_nodes([], query_str="why ?") == []


def test_a_cross_encoder_reads_what_an_embedder_would(cross_encoder: Path) -> None:
    told = [NodeWithScore(TextNode("passage", str(i), {"number": str(i)})) for i in range(4)]
    plain = [NodeWithScore(TextNode(hit.get_content(MetadataMode.EMBED), hit.node_id)) for hit in told]
    reranker = SentenceTransformerRerank(str(cross_encoder), top_n=4, device="cpu")
    found = ranked(reranker.postprocess_nodes(told, query_str="why ?"))
    assert found == ranked(reranker.postprocess_nodes(plain, query_str="why ?"))
    assert len({score for _, score in found}) == 4


def test_a_missing_cross_encoder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not on this computer"):
        SentenceTransformerRerank(str(tmp_path / "nothing"), local_files_only=True).postprocess_nodes(
            hits(1), query_str="?"
        )
    with pytest.raises(ConfigError, match="cannot be loaded"):
        SentenceTransformerRerank(str(tmp_path / "nothing")).postprocess_nodes(hits(1), query_str="why?")


@pytest.mark.parametrize("local", [True, False])
def test_a_name_is_downloaded_only_where_it_may_be(local: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def load(name: str, **options: object) -> None:
        asked.append(options.get("local_files_only", False))
        raise OSError

    monkeypatch.setattr("sentence_transformers.CrossEncoder", load)
    with pytest.raises(ConfigError):
        SentenceTransformerRerank("some/name", local_files_only=local).postprocess_nodes(
            hits(1), query_str="why?"
        )
    assert asked == [local]


TEMPLATE = "Of {context_str}: {query_str}"


@pytest.mark.parametrize(
    "wording", [TEMPLATE, PromptTemplate(TEMPLATE), SelectorPromptTemplate(PromptTemplate(TEMPLATE))]
)
def test_the_wording_may_be_a_text_or_a_template(wording: Wording) -> None:
    llm = ScriptedLLM(["Doc: 2, Relevance: 9", "[2] > [1]", "previous"])
    for made in (
        LLMRerank(llm, wording),
        RankGPTRerank(llm=llm, rankgpt_rerank_prompt=wording),
        AutoPrevNextNodePostprocessor(SimpleDocumentStore(), llm, prompt=wording),
    ):
        made.postprocess_nodes(hits(2) if len(llm.calls) < 2 else hits(1), query_str="why?")
    begun = [call.messages[-1].content.replace(f"{OPENING}\n", "")[:8] for call in llm.calls]
    assert begun == ["Of [1]\np", "Of [1]\np", "Of passa"]
    assert [call.prompt for call in llm.calls] == ["choice_select", "choice_select", "neighbour"]


def test_schema_ranking_is_read_and_an_empty_one_means_none() -> None:
    llm = ScriptedLLM(
        ['{"passages": [{"doc": 2, "relevance": 9}, {"doc": 1, "relevance": 3}]}', '{"passages": []}']
    )
    ranked = LLMRerank(llm).postprocess_nodes(hits(2), query_str="why?")
    assert [(hit.text, hit.score) for hit in ranked] == [("passage 1", 9.0), ("passage 0", 3.0)]
    assert LLMRerank(llm).postprocess_nodes(hits(2), query_str="why?") == []
