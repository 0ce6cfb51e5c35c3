"""Time-biased gain: what a reader gains from a ranking before time runs out.

Smucker & Clarke, SIGIR 2012, doi:10.1145/2348283.2348300. Documents are taken to be of one
length: the time to read one is a parameter, not a matter of its words.
"""

from typing import Annotated

import numpy as np

from rankgate.extend import Cutoff, Judged, Range, metric
from rankgate.measurement.metrics.judged_block import Floats, total

Probability = Annotated[float, Range(0, 1)]
Seconds = Annotated[float, Range(0)]


@metric(
    formula="TimedGain@k = Σ_{i≤k} g(i) · 2^(−T(i) / half_life),  "
    " T(i) = Σ_{j<i} (summary + p(j)·read)",
    low=0.0,
    high=None,
    source="Smucker & Clarke, SIGIR 2012, doi:10.1145/2348283.2348300",
    sees="the time that summaries and documents above cost, more for those that invite a click",
    blind_to="the lengths of documents, repeated documents, and the number of relevant documents",
)
def TimedGain(  # noqa: N802 - the field's own name
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    rel: float = 1,
    summary: Seconds = 4.4,
    read: Seconds = 25.8,
    half_life: Annotated[float, Range(0.001)] = 224.0,
    click_relevant: Probability = 0.64,
    click_other: Probability = 0.39,
    save_relevant: Probability = 0.77,
) -> Floats:
    """What a reader gains before time runs out, in relevant documents saved.

        TimedGain@k = Σ_{i≤k} g(i) · 2^(−T(i) / half_life)
        T(i) = Σ_{j<i} (summary + p(j) · read),   g(i) = click_relevant · save_relevant

    A reader looks at each summary, opens the document with probability p (`click_relevant` or
    `click_other`), saves it with `save_relevant` if it is relevant, and may leave at any time;
    after `half_life` seconds half of all readers have left.

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        rel: the smallest grade that is relevant; other documents, unjudged ones too, cost time.
        summary: seconds for a summary.
        read: seconds for a document; 25.8 is the article's 0.018 · words + 7.8 at 1,000 words.
        half_life: seconds.
        click_relevant: the probability of opening a relevant document.
        click_other: the same of another one.
        save_relevant: the probability of saving a relevant document that was opened.

    Returns:
        ``(T,)``; 0 where nothing relevant is retrieved.
    """
    hits = judged.hits(rel, cutoff)
    above = np.cumsum(hits, axis=-1) - hits  # relevant documents above each
    others = judged.rank[:, :cutoff] - 1 - above
    opened = above * click_relevant + others * click_other
    time = (above + others) * summary + opened * read
    gain = click_relevant * save_relevant
    return total(np.where(hits, gain * np.exp2(-time / half_life), 0))
