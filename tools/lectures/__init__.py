"""What a lecturer needs, made from the chapters and from one plan.

``book/en/units.yml`` says what each unit shows, asks and runs, and in
how many minutes. Slides, handouts, board plans and the page for lecturers are
made from it and from the chapters, so that they cannot drift apart.
"""
