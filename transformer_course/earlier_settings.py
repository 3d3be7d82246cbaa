"""Settings that an earlier version has stored, in today's words."""

from transformer_course.checks import Settings


def upgraded(settings: Settings) -> Settings:
    """Settings that an earlier version has stored, in today's words.

    What it does not know is left as it is.

    Args:
        settings: of an experiment, as its JSON has them.
    """
    if "task" in settings:
        return settings
    data, train = dict(settings["data"]), dict(settings["train"])
    model, decoder_only = upgraded_model(settings["model"])
    task = _task_then(data.get("corpus"), decoder_only)
    if data.get("corpus") == "soseki_text":
        data["corpus"] = "soseki"
    if str(train.get("start_from")).startswith("outputs/"):
        train["start_from"] = train["start_from"].removeprefix("outputs/")
    return settings | {
        "data": data,
        "model": model,
        "train": train,
        "task": task,
    }


def upgraded_model(values: Settings) -> tuple[Settings, bool]:
    """A model's settings without those that are no more.

    Returns:
        The settings, and whether they are those of a language model.
    """
    gone = ("attention_dropout", "decoder_only")
    kept = {key: value for key, value in values.items() if key not in gone}
    return kept, bool(values.get("decoder_only", False))


def _task_then(corpus: str | None, decoder_only: bool) -> str:
    """The task of a training from before tasks had names."""
    if decoder_only:
        return "language_modelling"
    return "next_sentence" if corpus in ("soseki", "haiku") else "translation"
