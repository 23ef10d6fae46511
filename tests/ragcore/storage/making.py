"""Documents and passages of every shape, for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from ragcore.schema import Document, IndexNode, Page, Template, TextNode
from ragcore.vector_stores.node_json import Item

texts = st.text(max_size=30)  # any characters, single halves of a character among them
ids = st.text("abcdefgh", min_size=1, max_size=4)
keys = st.lists(st.text("klm", min_size=1, max_size=2), max_size=2).map(tuple)
metadata = st.dictionaries(
    st.text("klmn", min_size=1, max_size=2),
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts),
    max_size=3,
)
templates = st.one_of(st.just(Template()), st.builds(Template, texts, texts, texts))
pages = st.lists(st.builds(Page, texts, st.integers(0, 9), st.integers(0, 9)), max_size=2).map(tuple)

documents = st.builds(
    Document, texts, ids, metadata, pages, st.sampled_from(["page", "slide"]), keys, keys, templates
)


def _nodes(kind: type[TextNode], **more: st.SearchStrategy[object]) -> st.SearchStrategy[TextNode]:
    return st.builds(
        kind,
        text=texts,
        id_=ids,
        metadata=metadata,
        ref_doc_id=st.one_of(st.none(), ids),
        start_char_idx=st.one_of(st.none(), st.integers(0, 99)),
        end_char_idx=st.one_of(st.none(), st.integers(0, 99)),
        prev_id=st.one_of(st.none(), ids),
        next_id=st.one_of(st.none(), ids),
        parent_id=st.one_of(st.none(), ids),
        child_ids=st.lists(ids, max_size=2).map(tuple),
        excluded_embed_metadata_keys=keys,
        excluded_llm_metadata_keys=keys,
        template=templates,
        **more,
    )


plain_nodes = _nodes(TextNode)
nodes = st.one_of(plain_nodes, _nodes(IndexNode, index_id=ids, obj=st.one_of(st.none(), plain_nodes)))
items: st.SearchStrategy[Item] = st.one_of(documents, nodes)


def fields(item: object) -> object:
    """Everything of an item, to compare by."""
    if isinstance(item, Document | TextNode):
        names = [name for kind in type(item).__mro__ for name in getattr(kind, "__slots__", ())]
        return type(item), {name: fields(getattr(item, name)) for name in names}
    return item
