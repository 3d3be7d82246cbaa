"""A grid: an experiment varied one factor at a time, with several seeds.

Table 3 of the paper is one (chapter 15). A grid is a base experiment,
variants that each change a factor of it, and seeds. One variant with one seed
is a *cell*: a training in ``outputs/GRID/VARIANT-seedK/``. ``train``
trains what is missing and writes to ``runs/GRID/``: ``settings.json``, a file
for each cell in ``cells/``, and the table as ``table.json``, ``table.csv``
and ``table.md``. ``read`` reads it back.

It may be stopped anywhere: started again, it goes on from the last
checkpoint. Several processes may work on one grid; small models are trained
fastest by as many as there are cores, with one thread each.
"""

from transformer_course.training.grid.plan import (
    BASE,
    Cell,
    Grid,
    Variant,
    changed_experiment,
    weights,
)
from transformer_course.training.grid.results import (
    Difference,
    Row,
    StoredGrid,
    Summary,
    difference,
    read,
    summary,
)
from transformer_course.training.grid.training import train

__all__ = [
    "BASE",
    "Cell",
    "Difference",
    "Grid",
    "Row",
    "StoredGrid",
    "Summary",
    "Variant",
    "changed_experiment",
    "difference",
    "read",
    "summary",
    "train",
    "weights",
]
