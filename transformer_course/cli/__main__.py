"""``python -m transformer_course.cli``: the same as transformer-course."""

from transformer_course.cli import main

main()
