"""Score a finished training on its test set, and store it under runs/.

    python tools/store_run.py outputs/enja "transformer-course train enja"

Both the best epoch's weights and the average are scored, greedy and with a
beam of 5, on all sentences and on those whose source side is unseen. The
length penalty is the one that does best on the development set.
"""

import sys
from pathlib import Path

import torch

from transformer_course import checkpoint, runs
from transformer_course.data.corpus import ParallelText, load_corpus, unseen
from transformer_course.score import corpus_bleu, corpus_chrf
from transformer_course.translate import encode_source, translate

SAMPLES = 12
BEAMS = (1, 5)
ALPHAS = (0.6, 1.0, 1.4, 1.8)
CREDIT = "Sentences: Tanaka Corpus / Tatoeba (CC BY 2.0 FR), as cut up in "
CREDIT += "odashi/small_parallel_enja."


def best_alpha(model, tokenizer, dev: ParallelText) -> float:
    """The beam's length penalty that the development set likes best."""

    def bleu(alpha: float) -> float:
        written = translate(model, tokenizer, dev.src, BEAMS[-1], alpha)
        return corpus_bleu(written, dev.tgt).value

    return max(ALPHAS, key=bleu)


def score_rows(
    name: str, beam: int, written: list[str], text: ParallelText, new
) -> list[dict]:
    """BLEU and chrF of one way of decoding: all, and unseen sentences."""
    rows = []
    for sentences, places in (("all", range(len(text))), ("unseen", new)):
        hypotheses = [written[i] for i in places]
        references = [text.tgt[i] for i in places]
        bleu = corpus_bleu(hypotheses, references)
        row = {
            "weights": name,
            "beam": beam,
            "sentences": sentences,
            "count": len(hypotheses),
            "bleu": round(bleu.value, 2),
            "chrf": round(corpus_chrf(hypotheses, references).value, 2),
            "details": bleu.details,
            "signature": bleu.signature,
        }
        rows.append(row)
    return rows


@torch.inference_mode()
def memory_spread(model, tokenizer, sentences: list[str]) -> float:
    """How much the encoder's vectors differ within a sentence.

    The standard deviation over the positions, averaged over the vector's
    components and the sentences. Near zero, all source words look alike to
    the decoder.
    """
    spreads = []
    for sentence in sentences:
        src = torch.tensor([encode_source(tokenizer, sentence)])
        spreads.append(model.encode(src)[0].std(dim=0).mean().item())
    return sum(spreads) / len(spreads)


def results(output: Path) -> dict:
    """Scores and samples of every kind of weights in the folder."""
    rows, samples = [], []
    for name in ("best", "average"):
        folder = output / "checkpoints" / name
        if not folder.is_dir():
            continue
        loaded = checkpoint.load(folder)
        about = loaded.details
        splits = load_corpus(
            about["corpus"], src=about["src"], tgt=about["tgt"]
        )
        text, new = splits.test, unseen(splits.test, splits.train)
        alpha = best_alpha(loaded.model, loaded.tokenizer, splits.dev)
        for beam in BEAMS:
            written = translate(
                loaded.model, loaded.tokenizer, text.src, beam, alpha
            )
            found = score_rows(name, beam, written, text, new)
            rows += [{**row, "alpha": alpha} for row in found]
        samples = [
            {"src": text.src[i], "tgt": text.tgt[i], "out": written[i]}
            for i in new[:SAMPLES]
        ]
    return {
        "memory_spread": round(
            memory_spread(loaded.model, loaded.tokenizer, splits.dev.src), 4
        ),
        "split": "test",
        "rows": rows,
        "samples": samples,
        "credit": CREDIT,
        "parameters": sum(p.numel() for p in loaded.model.parameters()),
    }


def main() -> None:
    """Take the folder and the command from the command line."""
    output, command = Path(sys.argv[1]), sys.argv[2]
    found = results(output)
    folder = runs.store(output, output.name, command, found)
    for row in found["rows"]:
        print(
            f"{row['weights']:8} beam {row['beam']} {row['sentences']:6} "
            f"({row['count']}) BLEU {row['bleu']:.2f} chrF {row['chrf']:.2f}"
        )
    print(folder)


if __name__ == "__main__":
    main()
