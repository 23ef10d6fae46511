"""The fitted weights of `features.FEATURES`, and the two log odds that separate the three outcomes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a conditional logit (McFadden 1974) over the sentences and "none of them", which has
    weight 1.

    `answer` and `closest` are the minimum log odds of these outcomes.
    """

    features: tuple[float, ...]
    bias: float
    answer: float
    closest: float


WITH_WORDS = Weights((2.317, 7.265, 1.954, 13.942, -0.649, -1.244), bias=-20.859, answer=-1.05, closest=-4.6)
"""The weights for the bundled embedder, fitted by `python -m benchmarks.reader --fit` to the development
halves of squad2_500, clapnq_dev and the everyday documents."""

MULTILINGUAL = Weights((2.145, 9.315, 2.788, 8.119, -0.213, -2.809), bias=-13.734, answer=-0.3, closest=-3.4)
"""The weights for multilingual-e5-small, fitted by `--fit --multilingual` to the development halves of
squad2_500, the everyday documents and xquad: German and Chinese, and German questions about English
passages."""

WITHOUT_WORDS = Weights(
    (5.538, 3.646, 0.693, 14.745, -0.725, -1.534), bias=-20.191, answer=-1.0, closest=-4.6
)
"""The weights for embedders without word vectors, whose words are compared by their stems."""
