"""Other people's models of the same size, trained as they are shipped.

They are the group ``bench`` of ``pyproject.toml``. One that is not installed
is named and left out. JoeyNMT is not among them: its last version, 2.3.0, asks
for protobuf below 3.21, and what writes our logs for a newer one.
"""

from collections.abc import Sequence
from itertools import islice

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.benchmarks import work
from experiments.benchmarks.work import Round, Turn
from transformer_course.batches.pairs import Batch
from transformer_course.checkpoints.smollm2 import load_gguf, smollm2_file
from transformer_course.data.tokenizer import BOS, EOS, PAD
from transformer_course.models.masks import causal_mask
from transformer_course.models.positional_encoding import SinusoidalPosition
from transformer_course.training.loop import set_seed


class Torch(nn.Module):
    """``nn.Transformer`` with the embeddings that it lacks.

    As in the others, one matrix embeds and makes logits, and numbers are
    dropped where a sub-layer ends.
    """

    def __init__(self):
        super().__init__()
        config = work.config()
        self.embedding = nn.Embedding(
            config.vocab_size, config.d_model, padding_idx=PAD
        )
        self.position = SinusoidalPosition(config.max_length, config.d_model)
        self.transformer = nn.Transformer(
            config.d_model,
            config.n_heads,
            config.n_layers,
            config.n_layers,
            config.d_ff,
            work.DROPOUT,
            batch_first=True,
        )
        self.to_logits = nn.Linear(
            config.d_model, config.vocab_size, bias=False
        )
        self.to_logits.weight = self.embedding.weight
        for part in self.transformer.modules():
            if isinstance(part, nn.MultiheadAttention):
                part.dropout = 0.0
        encoder, decoder = self.transformer.encoder, self.transformer.decoder
        for layer in (*encoder.layers, *decoder.layers):
            layer.dropout.p = 0.0  # inside the feed-forward part

    def forward(self, batch: Batch) -> Tensor:
        """Logits (batch, target, vocab)."""
        later = ~causal_mask(batch.tgt_in.size(1))[0, 0]
        hidden = self.transformer(
            self.position(self.embedding(batch.src)),
            self.position(self.embedding(batch.tgt_in)),
            tgt_mask=later,
            src_key_padding_mask=batch.src == PAD,
            tgt_key_padding_mask=batch.tgt_in == PAD,
            memory_key_padding_mask=batch.src == PAD,
            tgt_is_causal=True,
        )
        return self.to_logits(hidden)


class Library(nn.Module):
    """An encoder–decoder of Hugging Face's library: Marian or Bart."""

    def __init__(self, kind: str):
        super().__init__()
        import transformers

        ours = work.config()
        config = getattr(transformers, f"{kind}Config")(
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
        name = {"Marian": "MarianMTModel"}.get(
            kind, f"{kind}ForConditionalGeneration"
        )
        self.model = getattr(transformers, name)(config)

    def forward(self, batch: Batch) -> Tensor:
        """Logits (batch, target, vocab)."""
        return self.model(
            input_ids=batch.src,
            attention_mask=batch.src != PAD,
            decoder_input_ids=batch.tgt_in,
            use_cache=False,
        ).logits


class XTransformers(nn.Module):
    """The encoder–decoder of x-transformers, with flash attention."""

    def __init__(self):
        super().__init__()
        from x_transformers import XTransformer

        ours = work.config()
        half = {
            "num_tokens": ours.vocab_size,
            "max_seq_len": ours.max_length,
            "depth": ours.n_layers,
            "heads": ours.n_heads,
            "attn_dim_head": ours.d_model // ours.n_heads,
            "ff_mult": ours.d_ff // ours.d_model,
            "attn_flash": True,
            "emb_dropout": work.DROPOUT,
            "layer_dropout": 0.0,
            "ff_dropout": work.DROPOUT,
            "ff_custom_activation": nn.ReLU(),
        }
        sides = {
            f"{side}_{name}": value
            for side in ("enc", "dec")
            for name, value in half.items()
        }
        self.model = XTransformer(
            dim=ours.d_model, tie_token_emb=True, pad_value=PAD, **sides
        )
        decoder = self.model.decoder.net
        decoder.to_logits.weight = decoder.token_emb.emb.weight

    def forward(self, batch: Batch) -> Tensor:
        """Logits (batch, target, vocab)."""
        mask = batch.src != PAD
        memory = self.model.encoder(
            batch.src, mask=mask, return_embeddings=True
        )
        return self.model.decoder.net(
            batch.tgt_in, context=memory, context_mask=mask
        )

    def write(self, src: Tensor) -> Tensor:
        """Target ids (batch, new tokens), searched for greedily: its beam
        search takes no memory of a source."""
        start = torch.full((len(src), 1), BOS)
        return self.model.generate(
            src, start, work.NEW_TOKENS, mask=src != PAD, temperature=0.0
        )


def training(make, batches: Sequence[Batch]) -> Turn:
    """Updates as their users write them: cross entropy, clipped, Adam."""
    set_seed(0)
    learner = make().train()
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


def decoding(kind: str, beam_size: int, over=map) -> Turn:
    """The library's own search, with its cache.

    Args:
        kind: of the library's models.
        beam_size: 1 searches greedily.
        over: applies a search to batches.
    """
    set_seed(0)
    writer = Library(kind).model.eval()
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


def greedy_by_x_transformers() -> Turn:
    """Its own search, with its cache."""
    set_seed(0)
    writer = XTransformers().eval()
    sources = work.sources()

    @torch.inference_mode()
    def turn() -> Round:
        output = [ids for src in sources for ids in writer.write(src).tolist()]
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
