"""How fast the course's model is beside others (chapter 21).

``make bench`` runs ``python -m experiments.benchmarks``. :mod:`.work` is what
all have to do, :mod:`.course` and :mod:`.peers` are those who do it,
:mod:`.rounds` lets them take turns, each in a process of its own, and
:mod:`.worker` is what runs in there.
"""
