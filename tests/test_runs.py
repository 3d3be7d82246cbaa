"""The commands of stored runs on pages: ``book/_ext/course_runs.py``."""

from built_book import build_project, built_page


def test_a_page_names_the_command_of_each_run_that_it_reads(tmp_path):
    pages = {
        "index": "# The book\n\n```{toctree}\n01_sequence_to_sequence\n```\n",
        "01_sequence_to_sequence": "# One\n\n## Further reading\n\nA book.\n",
    }
    assert not build_project(tmp_path, "myst_parser course_runs", pages)
    index, page = (built_page(tmp_path, name) for name in pages)
    assert not index.xpath("//details")
    read = {}
    for item in page.xpath("//details//li"):
        name, *_, command = item.xpath(".//code")
        read[name.text_content()] = command.text_content()
    assert read["copying"] == "python -m experiments copying"
    assert read["layer-times"] == "python -m experiments layer-times"
    assert read["enja-gru"].endswith("translations outputs/enja-gru")
