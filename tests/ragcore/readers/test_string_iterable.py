"""StringIterableReader, and the names of the readers' package."""

from __future__ import annotations

import pytest

import ragcore.node_parser
import ragcore.readers
from ragcore.readers import StringIterableReader


def test_each_text_is_a_document_with_an_id_of_its_own() -> None:
    documents = StringIterableReader().load_data(iter(["one", "", "one"]))
    assert [document.text for document in documents] == ["one", "", "one"]
    assert len({document.id_ for document in documents}) == 3


@pytest.mark.parametrize("package", [ragcore.readers, ragcore.node_parser])
def test_every_name_exists_and_a_wrong_one_is_reported(package: object) -> None:
    for name in package.__all__:  # type: ignore[attr-defined]
        assert getattr(package, name).__name__ == {"SimpleNodeParser": "SentenceSplitter"}.get(name, name)
    with pytest.raises(AttributeError, match="NoSuchReader"):
        package.NoSuchReader  # type: ignore[attr-defined]  # noqa: B018
