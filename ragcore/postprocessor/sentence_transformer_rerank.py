"""Passages ranked by a cross-encoder, which reads question and passage together: slower than vectors, and
more exact."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ragcore.errors import ConfigError
from ragcore.postprocessor.base import BaseNodePostprocessor, question_of
from ragcore.schema import MetadataMode, NodeWithScore, QueryBundle

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

    from ragcore.embeddings.torch_device import Placed


DEFAULT_MODEL = "cross-encoder/ms-marco-MiniLM-L6-v2"


class SentenceTransformerRerank(BaseNodePostprocessor):
    """The `top_n` best, with the cross-encoder's score. `model` is a folder, or a name that
    sentence-transformers knows. With `keep_retrieval_score` the metadata has the score before that, as
    "retrieval_score".

    It is loaded when first used; ConfigError if that fails. If `device` fails, the processor goes on. With
    `local_files_only` nothing is downloaded. The model reads the beginning of a passage, mostly 512 tokens.
    Threads may share it.

        rerank = SentenceTransformerRerank(top_n=3)  # the first use downloads the model
        engine = index.as_query_engine(similarity_top_k=20, node_postprocessors=[rerank])
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        top_n: int = 2,
        device: str | None = None,
        keep_retrieval_score: bool = False,
        *,
        local_files_only: bool = False,
    ) -> None:
        self._name = model
        self._top_n = top_n
        self._device = device
        self._keep_retrieval_score = keep_retrieval_score
        self._local_files_only = local_files_only
        self._lock = threading.Lock()

    def _postprocess_nodes(
        self, nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
    ) -> list[NodeWithScore]:
        question = question_of(query_bundle)
        if not nodes:
            return []
        with self._lock:  # a model is not for several threads
            pairs = [(question, hit.get_content(MetadataMode.EMBED)) for hit in nodes]
            scores = self._model.run(lambda model: model.predict(pairs))
        if self._keep_retrieval_score:
            nodes = [
                replace(hit, node=replace(hit.node, metadata={**hit.metadata, "retrieval_score": hit.score}))
                for hit in nodes
            ]
        ranked = [NodeWithScore(hit.node, float(score)) for hit, score in zip(nodes, scores, strict=True)]
        return sorted(ranked, key=lambda hit: -hit.get_score())[: max(self._top_n, 0)]

    @cached_property
    def _model(self) -> Placed[CrossEncoder]:
        from ragcore.embeddings.torch_device import Placed

        return Placed(self._load, self._device)

    def _load(self, device: str) -> CrossEncoder:
        from sentence_transformers import CrossEncoder

        from ragcore.embeddings.torch_device import use_onednn

        try:
            model: CrossEncoder = CrossEncoder(
                self._name, device=device, local_files_only=self._local_files_only
            )
        except (OSError, ValueError) as error:
            # what the hub and the loader raise for a model that is not there
            if self._local_files_only:
                raise ConfigError(
                    f"The reranking model {self._name!r} is not on this computer.",
                    hint="Give the folder of a cross-encoder, or download it first: hf download "
                    "cross-encoder/ms-marco-MiniLM-L6-v2 is a small one.",
                ) from error
            raise ConfigError(
                f"The reranking model {self._name!r} cannot be loaded: {error}.",
                hint=(
                    "Give the folder of a cross-encoder, or a name to download, such as "
                    "cross-encoder/ms-marco-MiniLM-L6-v2."
                ),
            ) from error
        use_onednn(model)
        return model
