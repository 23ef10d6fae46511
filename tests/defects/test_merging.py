"""What goes wrong when small passages are merged into larger ones elsewhere, and does not here."""

from ragcore.node_parser.hierarchical import HierarchicalNodeParser
from ragcore.retrievers.auto_merging import AutoMergingRetriever
from ragcore.schema import Document
from ragcore.storage.docstore import SimpleDocumentStore
from tests.ragcore.retrievers.doubles import Finding, pairs
from tests.word_tokenizer import WordTokenizer


def test_d27_gap_between_leaves_with_metadata_is_filled() -> None:
    document = Document("one two three four five six seven eight nine ten", "d", {"k": "v"})
    tree = HierarchicalNodeParser(
        [12, 4], chunk_overlap=0, tokenizer=WordTokenizer()
    ).get_nodes_from_documents([document])
    first, second, third, *_ = tree.leaves()
    assert [first.next_id, second.prev_id, second.next_id, third.prev_id] == [
        second.id_,
        first.id_,
        third.id_,
        second.id_,
    ]
    docstore = SimpleDocumentStore()
    docstore.add_documents(tree)
    found = AutoMergingRetriever(
        Finding((first, 0.8), (third, 0.4)), docstore, simple_ratio_thresh=1.0
    ).retrieve("?")
    assert pairs(found) == [(first.id_, 0.8), (second.id_, 0.6000000000000001), (third.id_, 0.4)]
