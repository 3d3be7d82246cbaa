"""Does fine-tuning with Hugging Face's own classes reach the same accuracy?

The peer's model, tokenizer and schedule (``transformers``, from
the group ``peers``) under a linear map of the mean of the tokens, on
the 85 labels of ``fine-tuning``, with its highest rate and number of epochs.
Batches are 32 sentences in random order, as is usual there. One training takes
a minute of one core.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.classifiers import classification_scores, splits_of
from experiments.fine_tuning import EPOCHS, RATE
from experiments.lab import Experiment, Record, RunContext
from transformer_course.checkpoints.pretrained import minilm_folder
from transformer_course.models.bert import mean_of_tokens
from transformer_course.training.loop import set_seed
from transformer_course.training.presets import FINE_TUNING

LABELS = 85
BATCH = 32
"""Sentences in a batch."""
DROPOUT = 0.1


class PeersClassifier(nn.Module):
    """The library's encoder and tokenizer, and a linear map to two classes."""

    def __init__(self, smoke: bool):
        super().__init__()
        from transformers import AutoModel, AutoTokenizer, BertConfig

        folder = minilm_folder()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        if smoke:
            small: dict[str, Any] = {
                "hidden_size": 16,
                "intermediate_size": 16,
                "num_attention_heads": 2,
                "num_hidden_layers": 1,
            }
            self.body = AutoModel.from_config(BertConfig(**small))
        else:
            self.body = AutoModel.from_pretrained(folder)
        self.dropout = nn.Dropout(DROPOUT)
        self.to_logits = nn.Linear(self.body.config.hidden_size, 2)

    def forward(self, texts: list[str]) -> Tensor:
        """Logits (texts, classes)."""
        read = self.tokenizer(texts, padding=True, return_tensors="pt")
        x = self.body(**read).last_hidden_state
        x = mean_of_tokens(x, read.input_ids, self.tokenizer.pad_token_id)
        return self.to_logits(self.dropout(x))


def measure(_: None, seed: int, context: RunContext) -> Record:
    """Train, and judge by test."""
    from transformers import get_cosine_schedule_with_warmup

    splits = splits_of("sentence_polarity", context)
    train = splits.train.take(range(min(LABELS, len(splits.train))))
    set_seed(seed)
    model = PeersClassifier(context.smoke)
    optimizer = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.01)
    epochs = context.limit(EPOCHS[LABELS])
    steps = epochs * -(-len(train) // BATCH)
    schedule = get_cosine_schedule_with_warmup(
        optimizer, round(FINE_TUNING.warmup * steps), steps
    )
    model.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(train)).split(BATCH):
            batch = train.take(rows.tolist())
            loss = F.cross_entropy(
                model(batch.texts), torch.tensor(batch.labels)
            )
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    model.eval()
    parts = [
        splits.test.texts[i : i + BATCH]
        for i in range(0, len(splits.test), BATCH)
    ]
    with torch.inference_mode():
        found = torch.cat([model(texts) for texts in parts]).softmax(dim=-1)
    return {
        "labels": len(train),
        "epochs": epochs,
        "test": classification_scores(splits.test, found),
    }


EXPERIMENT = Experiment(
    name="fine-tuning-peer",
    chapter="18_bert",
    variants={f"{LABELS}/transformers": None},
    measure=measure,
    settings=lambda: {"rate": RATE, "batch": BATCH},
)
