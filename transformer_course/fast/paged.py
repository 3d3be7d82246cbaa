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

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from transformer_course.data.tokenizer import BOS, EOS, PAD
from transformer_course.decoding.generate import Pick, argmax
from transformer_course.errors import ConfigError
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.modern_config import ModernConfig
from transformer_course.models.positional_encoding import rotate, rotations

KEPT_OTHERWISE = (
    *("window", "sinks", "latent", "linear", "gated", "kv_layers"),
    *("index_top", "streams", "rope_scaling", "rope_share"),
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
        heads, d_head = config.n_kv_heads, config.d_head
        shape = config.n_layers, count, size, heads, d_head
        self.key = torch.zeros(shape, device=device)
        self.value = torch.zeros_like(self.key)
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

    def take(self) -> int:
        """An unused block, whose contents are forgotten."""
        block, _ = self.unused.popitem(last=False)
        self.known.pop(self.begins.pop(block, ()), None)
        self.users[block] = 1
        return block

    def remember(self, text: Text) -> None:
        """Let other texts share the full blocks of this one."""
        for i in range(text.read // self.size):
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
        device = model.embedding.weight.device
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

    def drop(self) -> list[Text]:
        """Give all texts up, after a step that failed, and begin anew."""
        texts = [*self.running, *self.waiting]
        for text in texts:
            self.blocks.give_back(text)
        self.running.clear()
        self.waiting.clear()
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
        text.blocks += [self.blocks.take() for _ in range(needed)]
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
                    text.blocks.append(self.blocks.take())
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
            text.read = len(text.ids)
            self.blocks.remember(text)
            token = int(text.pick(row))
            text.ids.append(token)
            text.on_token(token)
            full = len(text.ids) - text.prompt == text.longest
            text.ended = text.ended or token == EOS or full
        for text in [text for text in texts if text.ended]:
            self.running.remove(text)
            self.blocks.give_back(text)

    def logits(self, texts: list[Text]) -> Float[Tensor, "texts vocab"]:
        """Logits of the next token, after the new keys and values are kept."""
        model, size = self.model, self.blocks.size
        device = self.blocks.key.device
        ids = torch.tensor([text.ids[text.read :] for text in texts])
        read = torch.tensor([text.read for text in texts])
        positions = (read[:, None] + torch.arange(ids.size(1))).to(device)
        tables = [torch.tensor(text.blocks) for text in texts]
        table = pad_sequence(tables, batch_first=True).to(device)
        place = table.gather(1, positions // size), positions % size
        known = torch.arange(table.size(1) * size, device=device)
        mask = (known <= positions[..., None])[:, None]
        d_head, base = model.config.d_head, model.config.rope_base
        turns = [
            each.unflatten(0, positions.shape)[:, None]
            for each in rotations(positions.flatten(), d_head, base)
        ]
        x = model.embedding(ids.to(device))
        kept = zip(self.blocks.key, self.blocks.value, strict=True)
        for layer, (keys, values) in zip(model.layers, kept, strict=True):
            y, attention = layer.norm_1(x), layer.attention
            maps = attention.to_query, attention.to_key, attention.to_value
            query, key, value = (
                each(y).unflatten(-1, (-1, d_head)).transpose(1, 2)
                for each in maps
            )
            query = rotate(attention.query_norm(query), turns)
            key = rotate(attention.key_norm(key), turns)
            keys[place] = key.transpose(1, 2)
            values[place] = value.transpose(1, 2)
            output = F.scaled_dot_product_attention(
                query,
                keys[table].flatten(1, 2).transpose(1, 2),
                values[table].flatten(1, 2).transpose(1, 2),
                mask,
                enable_gqa=True,
            )
            x = x + attention.to_output(output.transpose(1, 2).flatten(2))
            x = x + layer.feed_forward(layer.norm_2(x))
        return model.to_logits(model.norm(x)[:, -1])
