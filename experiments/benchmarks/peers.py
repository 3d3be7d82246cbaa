"""Other people's models of the same size, trained as they are shipped.

They are the groups ``peers`` and ``bench`` of ``pyproject.toml``. One that is
not installed is named and left out.
"""

from itertools import islice

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.benchmarks import work
from experiments.benchmarks.work import Round, Turn
from transformer_course.batches.pairs import Batch
from transformer_course.checkpoints.smollm2 import load_gguf, smollm2_file
from transformer_course.data.tokenizer import BOS, EOS, PAD
from transformer_course.training.loop import set_seed


class Marian(nn.Module):
    """The encoder–decoder of that name in Hugging Face's library."""

    def __init__(self):
        super().__init__()
        from transformers import MarianConfig, MarianMTModel

        ours = work.config()
        config = MarianConfig(
            vocab_size=ours.vocab_size,
            d_model=ours.d_model,
            encoder_layers=ours.n_layers,
            decoder_layers=ours.n_layers,
            encoder_attention_heads=ours.n_heads,
            decoder_attention_heads=ours.n_heads,
            encoder_ffn_dim=ours.d_ff,
            decoder_ffn_dim=ours.d_ff,
            dropout=work.DROPOUT,
            attention_dropout=0.0,
            activation_dropout=0.0,
            activation_function="relu",
            max_position_embeddings=ours.max_length,
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
            forced_eos_token_id=None,
            decoder_start_token_id=BOS,
            scale_embedding=True,
        )
        self.model = MarianMTModel(config)

    def forward(self, batch: Batch) -> Tensor:
        """Logits (batch, target, vocab)."""
        return self.model(
            input_ids=batch.src,
            attention_mask=batch.src != PAD,
            decoder_input_ids=batch.tgt_in,
            use_cache=False,
        ).logits


def training() -> Turn:
    """Updates as its users write them: cross entropy, clipped, Adam."""
    set_seed(0)
    learner, batches = Marian().train(), work.bucketed()
    optimizer = torch.optim.Adam(
        learner.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=True
    )
    tokens = work.real_tokens(batches)

    def turn() -> Round:
        for batch in batches:
            loss = F.cross_entropy(
                learner(batch).flatten(0, 1),
                batch.tgt_out.flatten(),
                ignore_index=PAD,
                label_smoothing=work.SMOOTHING,
            )
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learner.parameters(), 1.0)
            optimizer.step()
        return Round(tokens, [])

    return turn


def decoding(beam_size: int, over=map) -> Turn:
    """The library's own search, with its cache.

    Args:
        beam_size: 1 searches greedily.
        over: applies a search to batches.
    """
    set_seed(0)
    writer = Marian().model.eval()
    sources = work.sources()

    @torch.inference_mode()
    def decode(src: Tensor) -> list[list[int]]:
        return writer.generate(
            input_ids=src,
            attention_mask=src != PAD,
            num_beams=beam_size,
            do_sample=False,
            min_new_tokens=work.NEW_TOKENS,
            max_new_tokens=work.NEW_TOKENS,
        ).tolist()

    def turn() -> Round:
        output = [ids for batch in over(decode, sources) for ids in batch]
        return Round(len(output), output)

    return turn


def answering() -> Turn:
    """SmolLM2 by the library, which unpacks its weights."""
    from transformers import AutoModelForCausalLM

    path = smollm2_file()
    _, tokenizer = load_gguf(path)
    writer = AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32
    ).eval()
    ids = torch.tensor([tokenizer.encode(work.prompt())])

    @torch.inference_mode()
    def turn() -> Round:
        row = writer.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            min_new_tokens=work.ANSWER,
            max_new_tokens=work.ANSWER,
        )[0, ids.size(1) :].tolist()
        return Round(len(row), [row])

    return turn


def answering_by_llama() -> Turn:
    """SmolLM2 by llama.cpp, in its file's four bits."""
    from llama_cpp import Llama

    threads = torch.get_num_threads()
    writer = Llama(
        str(smollm2_file()), n_ctx=512, n_threads=threads,
        n_threads_batch=threads, verbose=False,
    )  # fmt: skip
    ids = writer.tokenize(work.prompt().encode(), add_bos=False, special=True)

    def turn() -> Round:
        writer.reset()  # so that it reads the prompt each time
        tokens = writer.generate(ids, temp=0.0, reset=False)
        row = list(islice(tokens, work.ANSWER))
        return Round(len(row), [row])

    return turn
