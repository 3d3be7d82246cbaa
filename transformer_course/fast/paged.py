"""Many texts at once: continuous batching over a paged cache (chapter 21).

A server does not know when texts come, nor how long they will be. It keeps
keys and values in blocks of one size, which texts with the same beginning
share (Kwon et al. 2023, section 4), and it takes a new text into the batch as
soon as another one ends (Yu et al. 2022, section 3.1)::

    server = Server(model)
    server.add(text := Text(prompt_ids, longest=200))
    while server.step():
        pass
    text.written
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Complex64, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from transformer_course.data.tokenizer import BOS, EOS, PAD
from transformer_course.decoding.generate import Pick, argmax
from transformer_course.errors import ConfigError
from transformer_course.fast.four_bits import concat_linears
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.modern_config import ModernConfig
from transformer_course.models.positional_encoding import rotations

KEPT_OTHERWISE = (
    *("window", "sinks", "latent", "linear", "gated", "kv_layers"),
    *("index_top", "streams", "rope_scaling", "rope_share", "qk_norm"),
)
"""Settings that change what a layer keeps, or how it reads it."""


@dataclass(eq=False)
class Text:
    """A text that a server goes on writing.

    Args:
        ids: the prompt; what is written is added to it.
        longest: most tokens that are written.
        pick: chooses a token from logits, (1, vocab).
        on_token: called with each token as it is written, eos included.
        on_error: called with what ended it before its time.
    """

    ids: list[int]
    longest: int = 200
    pick: Pick = argmax
    on_token: Callable[[int], object] = lambda token: None
    on_error: Callable[[Exception], object] = lambda error: None
    blocks: list[int] = field(default_factory=list)
    """Where the keys and values of its positions are kept."""
    read: int = 0
    """Positions whose keys and values are there."""
    ended: bool = False

    def __post_init__(self):
        self.prompt = len(self.ids)

    @property
    def written(self) -> list[int]:
        """The tokens that were written, without eos."""
        written = self.ids[self.prompt :]
        return written[:-1] if written[-1:] == [EOS] else written


class Blocks:
    """Memory for keys and values, in blocks that texts share.

    A full block is known by all tokens up to its end: a text that begins with
    these needs not read them again. A block that no text uses is kept until
    its memory is needed; the longest unused goes first.

    Args:
        config: of the model.
        count: number of blocks.
        size: positions of a block.
        device: where they are kept.
    """

    def __init__(
        self, config: ModernConfig, count: int, size: int, device: torch.device
    ):
        heads = 2 * config.n_kv_heads  # those of keys, then those of values
        shape = config.n_layers, count * size, heads, config.d_head
        self.kept = torch.zeros(shape, device=device)
        self.size, self.users = size, [0] * count
        self.unused = OrderedDict.fromkeys(range(count))
        self.known: dict[tuple[int, ...], int] = {}
        self.begins: dict[int, tuple[int, ...]] = {}  # the inverse

    def share(self, ids: list[int]) -> list[int]:
        """Use the blocks of the longest known beginning of a text.

        Of its last token the logits are needed, so that one is read.
        """
        found: list[int] = []
        for end in range(self.size, len(ids), self.size):
            if (block := self.known.get(tuple(ids[:end]))) is None:
                break
            found.append(block)
        for block in found:
            self.users[block] += 1
            self.unused.pop(block, None)
        return found

    def take(self, text: Text) -> None:
        """Give a text one more block, whose contents are forgotten.

        It lies behind the text's last one, if nothing is lost by that.
        """
        block = text.blocks[-1] + 1 if text.blocks else -1
        if block not in self.unused or block in self.begins:
            block = next(iter(self.unused))
        del self.unused[block]
        self.known.pop(self.begins.pop(block, ()), None)
        self.users[block] = 1
        text.blocks.append(block)

    def places(
        self, texts: list[Text], length: int
    ) -> Int[Tensor, "texts length"]:
        """Where the first positions of each text are kept."""
        tables = [torch.tensor(text.blocks) for text in texts]
        starts = pad_sequence(tables, batch_first=True)[..., None] * self.size
        places = (starts + torch.arange(self.size)).flatten(1)
        return places[:, :length].to(self.kept.device)

    def remember(self, text: Text, before: int) -> None:
        """Let others share blocks that are full since so much was read."""
        for i in range(before // self.size, text.read // self.size):
            begin = tuple(text.ids[: (i + 1) * self.size])
            if self.known.setdefault(begin, text.blocks[i]) == text.blocks[i]:
                self.begins[text.blocks[i]] = begin

    def give_back(self, text: Text) -> None:
        """Use a text's blocks no longer; its beginning is forgotten last."""
        for block in reversed(text.blocks):
            self.users[block] -= 1
            if not self.users[block]:
                self.unused[block] = None
        text.blocks, text.read = [], 0


class Server:
    """Writes texts together, each of which begins and ends when it likes.

    Args:
        model: a decoder whose layers all have plain attention.
        rows: most texts of a batch.
        blocks: number of blocks for all texts.
        size: positions of a block.
        continuous: take a text in as soon as there is room; else only when
            all others have ended, as in a static batch.

    Raises:
        ConfigError: the model has other layers.
    """

    def __init__(
        self,
        model: ModernLanguageModel,
        rows: int = 8,
        blocks: int = 512,
        size: int = 16,
        continuous: bool = True,
    ):
        plain = ModernConfig()
        if odd := [
            name for name in KEPT_OTHERWISE
            if getattr(model.config, name) != getattr(plain, name)
        ]:  # fmt: skip
            raise ConfigError(
                f"the model's {odd[0]} is {getattr(model.config, odd[0])}, "
                "but the server keeps the keys and values of plain attention "
                "alone: take such a model, as smollm2 is."
            )
        self.model, self.rows, self.continuous = model, rows, continuous
        device = next(model.parameters()).device
        self.blocks = Blocks(model.config, blocks, size, device)
        self.waiting: deque[Text] = deque()
        self.running: list[Text] = []

    def add(self, text: Text) -> None:
        """Let a text wait for its turn.

        Raises:
            ConfigError: as :meth:`check`.
        """
        self.check(text)
        self.waiting.append(text)

    def check(self, text: Text) -> None:
        """Refuse a text that could never be written whole.

        Raises:
            ConfigError: it is empty, or there is no room for it.
        """
        room = len(self.blocks.users) * self.blocks.size
        longest = min(self.model.config.max_length, room)
        if not text.prompt or text.longest < 1:
            raise ConfigError(
                f"a prompt of {text.prompt} tokens and {text.longest} more "
                "were asked for: expected at least one of each."
            )
        if text.prompt + text.longest > longest:
            raise ConfigError(
                f"a text of {text.prompt:,} tokens and {text.longest:,} more "
                f"was asked for, but there is room for {longest:,}: ask for "
                "less."
            )

    @torch.inference_mode()
    def step(self) -> bool:
        """Write one token of each text, and take in who then fits.

        Returns:
            Whether there is more to do.
        """
        if self.running and self._make_room():
            self._write(self.running)
        if self.continuous or not self.running:
            while self.waiting and len(self.running) < self.rows:
                if not self._take_in(self.waiting[0]):
                    break
        return bool(self.running or self.waiting)

    def leave(self, text: Text) -> None:
        """Give a text up; what it has read stays known."""
        for texts in (self.running, self.waiting):
            if text in texts:
                texts.remove(text)
        self.blocks.give_back(text)

    def drop(self) -> list[Text]:
        """Give all texts up, after a step that failed, and begin anew."""
        texts = [*self.running, *self.waiting]
        for text in texts:
            self.leave(text)
        self.blocks.known.clear()  # what was kept last may be wrong
        self.blocks.begins.clear()
        return texts

    def _take_in(self, text: Text) -> bool:
        """Read a waiting text, if there is room for it and one token more."""
        text.blocks = self.blocks.share(text.ids)
        text.read = len(text.blocks) * self.blocks.size
        needed = len(text.ids) // self.blocks.size + 1 - len(text.blocks)
        if needed > len(self.blocks.unused):
            self.blocks.give_back(text)
            return False
        for _ in range(needed):
            self.blocks.take(text)
        self.running.append(self.waiting.popleft())
        self._write([text])
        return True

    def _make_room(self) -> bool:
        """A place for each text's newest token.

        Where there is none, the text that came last waits again, and is read
        again later.
        """
        for text in list(self.running):
            while text in self.running and self._is_full(text):
                if self.blocks.unused:
                    self.blocks.take(text)
                else:
                    last = self.running.pop()
                    self.blocks.give_back(last)
                    self.waiting.appendleft(last)
        return bool(self.running)

    def _is_full(self, text: Text) -> bool:
        return text.read == len(text.blocks) * self.blocks.size

    def _write(self, texts: list[Text]) -> None:
        """Read what is new of these texts, equally much of each, and write."""
        logits = self.logits(texts).float()
        logits[:, [PAD, BOS]] = -torch.inf  # no text goes on with these
        for text, row in zip(texts, logits.split(1), strict=True):
            before, text.read = text.read, len(text.ids)
            self.blocks.remember(text, before)
            token = int(text.pick(row))
            text.ids.append(token)
            text.on_token(token)
            full = len(text.ids) - text.prompt == text.longest
            text.ended = text.ended or token == EOS or full
        for text in [text for text in texts if text.ended]:
            self.leave(text)

    def logits(self, texts: list[Text]) -> Float[Tensor, "texts vocab"]:
        """Logits of the next token, after the new keys and values are kept."""
        model, heads = self.model, self.model.config.n_heads
        device = self.blocks.kept.device
        ids = torch.tensor([text.ids[text.read :] for text in texts])
        read = torch.tensor([text.read for text in texts])
        positions = (read[:, None] + torch.arange(ids.size(1))).to(device)
        places = self.blocks.places(texts, int(read.max()) + ids.size(1))
        new = places.gather(1, positions).flatten()
        mask = None
        if positions.numel() > 1:  # else the newest token sees all
            known = torch.arange(places.size(1), device=device)
            mask = known <= positions[..., None]
        if lie_together(texts):  # a slice copies nothing
            start = texts[0].blocks[0] * self.blocks.size
            places = slice(start, start + places.size(1))
        turns = self._turns(positions)
        x = model.embedding(ids.to(device))
        layers = zip(model.layers, self.maps, self.blocks.kept, strict=True)
        for layer, maps, kept in layers:
            pairs = maps(layer.norm_1(x)).view(*turns.shape, 2)
            turned = torch.view_as_complex(pairs) * turns
            each = torch.view_as_real(turned).flatten(-2)
            query, newest = each[:, :, :heads], each[:, :, heads:]
            kept.index_copy_(0, new, newest.flatten(0, 1))
            output = attend(query, kept[places], mask)
            x = x + layer.attention.to_output(output)
            x = x + layer.feed_forward(layer.norm_2(x))
        return model.to_logits(model.norm(x[:, -1]))

    @cached_property
    def maps(self) -> list[nn.Module]:
        """Of each layer the product that gives queries, keys and values."""
        return [
            concat_linears([part.to_query, part.to_key, part.to_value])
            for part in (layer.attention for layer in self.model.layers)
        ]

    def _turns(
        self, positions: Int[Tensor, "texts new"]
    ) -> Complex64[Tensor, "texts new heads half"]:
        """How rotary positions turn pairs of numbers; values stay."""
        config, each = self.model.config, positions.flatten()
        turn = torch.complex(*rotations(each, config.d_head, config.rope_base))
        turn = turn.unflatten(0, positions.shape)[:, :, None]
        turned = turn.repeat(1, 1, config.n_heads + config.n_kv_heads, 1)
        stay = torch.ones_like(turned[:, :, : config.n_kv_heads])
        return torch.cat([turned, stay], dim=2)


def lie_together(texts: list[Text]) -> bool:
    """Whether it is one text, and its blocks lie side by side in memory."""
    blocks = texts[0].blocks
    together = range(blocks[0], blocks[0] + len(blocks))
    return len(texts) == 1 and blocks == list(together)


def attend(
    query: Float[Tensor, "texts new heads d_head"],
    kept: Float[Tensor, "*texts known shared d_head"],
    mask: Bool[Tensor, "texts new known"] | None,
) -> Float[Tensor, "texts new d_model"]:
    """What each query takes from its text.

    The queries that share a head of keys are given as queries of one head;
    so no key is copied.

    Args:
        query: turned.
        kept: of each text the keys' heads and the values', (known, shared,
            d_head) or (texts, known, shared, d_head).
        mask: True where a query may look; None for all.
    """
    texts, new, heads, _ = query.shape
    kept = kept.view(texts, -1, *kept.shape[-2:]).transpose(1, 2)
    key, value = kept.chunk(2, dim=1)
    group = heads // key.size(1)
    query = query.unflatten(2, (-1, group)).permute(0, 2, 3, 1, 4)
    if mask is not None:
        mask = mask.repeat(1, group, 1)[:, None]
    output = F.scaled_dot_product_attention(
        query.flatten(2, 3), key, value, mask
    )
    return output.unflatten(2, (group, new)).permute(0, 3, 1, 2, 4).flatten(2)
