"""Formulas as HTML: the lines of the descriptions, with subscripts and superscripts."""

from __future__ import annotations

import re
from html import escape

_LOW = re.compile(r"_(?:\{([^{}]*)\}|(\w+))")
_HIGH = re.compile(r"\^(?:\{([^{}]*)\}|\(([^()]*)\)|(\w+))")


def typeset(formula: str) -> str:
    """A formula as a block of raw HTML for MyST; parts between wide gaps are in lines of their own.

    >>> typeset("S = Σ_{i≤k} 2^gradeᵢ,   k = 1").splitlines()[1:3]
    ['<div class="formula" role="math"><p>S = Σ<sub>i≤k</sub> 2<sup>gradeᵢ</sup>,</p>', '<p>k = 1</p></div>']
    """
    parts = re.split(r"(?<=,)\s{2,}|\n", formula)
    lines = "\n".join(f"<p>{_set(segment)}</p>" for segment in parts)
    return f'```{{raw}} html\n<div class="formula" role="math">{lines}</div>\n```\n'


def _set(text: str) -> str:
    high = _HIGH.sub(lambda found: f"<sup>{next(filter(None, found.groups()))}</sup>", escape(text))
    return _LOW.sub(lambda found: f"<sub>{next(filter(None, found.groups()))}</sub>", high)
