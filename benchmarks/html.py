"""How well the text of an article is extracted from its web page.

    python -m benchmarks.html

Reads ../shared/data/html_articles: 60 news and blog pages with the text of their articles (Scrapinghub's
article extraction benchmark). F1 of words: of the words of the text and of the article, as multisets; the
mean over the pages. The peers see the same pages in the same run: BeautifulSoup's get_text, and trafilatura
as it is called by default.
"""

from __future__ import annotations

import gzip
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

from ragcore.readers.encodings import decode
from ragcore.readers.web.html import page_text

DATA = Path(__file__).parents[2] / "shared" / "data" / "html_articles"


def agreement(text: str, article: str) -> tuple[float, float, float]:
    """(precision, recall, F1) of the words of `text`, each 0 to 1."""
    actual, expected = (Counter(re.findall(r"\w+", each)) for each in (text, article))
    both = sum((actual & expected).values())
    precision, recall = both / max(sum(actual.values()), 1), both / max(sum(expected.values()), 1)
    return precision, recall, 2 * precision * recall / (precision + recall) if both else 0.0


def measure(
    pages: dict[str, tuple[str, str]], text_of: Callable[[str], str]
) -> tuple[float, float, float, float]:
    """Means of precision, recall and F1 over the pages, and milliseconds for each page."""
    began = time.process_time()
    texts = {name: text_of(html) for name, (html, _) in pages.items()}
    spent = time.process_time() - began
    rows = [agreement(texts[name], article) for name, (_, article) in pages.items()]
    precision, recall, f1 = (fmean(column) for column in zip(*rows, strict=True))
    return precision, recall, f1, 1000 * spent / len(pages)


def pages() -> dict[str, tuple[str, str]]:
    """The HTML and the article's text of each page, by its name."""
    known = json.loads((DATA / "ground-truth.json").read_text("utf-8"))
    return {
        name: (
            decode(gzip.decompress((DATA / "html" / f"{name}.html.gz").read_bytes()), name, declares=True),
            entry["articleBody"],
        )
        for name, entry in known.items()
    }


def main() -> None:
    import bs4
    import trafilatura

    peers: dict[str, Callable[[str], str]] = {
        "ours": page_text,
        "trafilatura, by default": lambda html: trafilatura.extract(html) or "",
        "BeautifulSoup get_text": lambda html: bs4.BeautifulSoup(html, "html.parser").get_text(" "),
    }
    articles = pages()
    page_text(next(iter(articles.values()))[0])  # imports what it needs
    print(f"{len(articles)} pages")
    print(f"{'':26}precision  recall      F1  ms a page")
    for name, text_of in peers.items():
        precision, recall, f1, spent = measure(articles, text_of)
        print(f"{name:26}{precision:9.3f}{recall:8.3f}{f1:8.3f}{spent:11.0f}")


if __name__ == "__main__":
    main()
