"""Eleven authors; complete works are held out for evaluation.

Ten authors of the corpus ``authors``, with three to nineteen works each, and
Soseki's twenty. Nothing of a held-out work is ever learned from, neither its
author nor its words (chapters 17 and 18).
"""

from collections.abc import Iterable

from transformer_course.data import aozora
from transformer_course.data.aozora import Work, prose
from transformer_course.data.text import Splits

DEV = (
    "毛利先生",
    "服装に就いて",
    "土神ときつね",
    "食堂",
    "斜坑",
    "恐怖王",
    "悟浄歎異　―沙門悟浄の手記―",
    "青春論",
    "勘平の死",
    "地中魔",
    *prose.DEV,
)
"""Held out to choose by: one work of each author."""
TEST = (
    "俊寛",
    "妖婆",
    "東京八景　（苦難の或人に贈る）",
    "八十八夜",
    "注文の多い料理店",
    "雪渡り",
    "フランドン農学校の豚",
    "芽生",
    "伸び支度",
    "霊感！",
    "斬られたさに",
    "蟲",
    "虎狩",
    "文字禍",
    "青鬼の褌を洗う女",
    "深見夫人の死",
    "一坪館",
    *prose.TEST,
)
"""Held out to report on: one to three works of each author."""


def works(given: Iterable[Work] | None = None) -> Splits[list[Work]]:
    """Works of all eleven authors, split.

    Args:
        given: read already; those of both corpora when None.

    Raises:
        CorpusError: the corpus cannot be had.
    """
    if given is None:
        given = [*aozora.load("authors"), *aozora.soseki()]
    given = list(given)
    held_out = {*DEV, *TEST}
    return Splits(
        [work for work in given if work.title not in held_out],
        [work for work in given if work.title in DEV],
        [work for work in given if work.title in TEST],
    )
