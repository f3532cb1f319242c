"""The model's own tokenizer. Ids handed in are range-checked: the engine would end the process."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cached_property
from itertools import compress, repeat

from nextok.backends.llama_library import library
from nextok.generation.errors import EngineError

#: llama.h, enum llama_token_attr.
_UNKNOWN_OR_CONTROL = 1 << 0 | 1 << 3


class LlamaTokenizer:
    """Encodes text and spells tokens. Lives as long as the weights it was made from."""

    def __init__(self, vocabulary: object) -> None:
        self._llama = library()
        self.vocabulary = vocabulary
        self._size = int(self._llama.llama_vocab_n_tokens(vocabulary))
        self._buffer = ctypes.create_string_buffer(256)
        self._pieces: dict[int, bytes] = {}

    def __len__(self) -> int:
        return self._size

    @cached_property
    def kind(self) -> str:
        """llama.h, enum llama_vocab_type: SentencePiece, byte-level pairs, WordPiece…"""
        return str(self._llama.llama_vocab_type(self.vocabulary))

    @cached_property
    def bos(self) -> int | None:
        """The token a sequence begins with, where the file says that one is added."""
        token = int(self._llama.llama_vocab_bos(self.vocabulary))
        wanted = self._llama.llama_vocab_get_add_bos(self.vocabulary)
        return token if wanted and 0 <= token < self._size else None

    def special_text(self, name: str) -> str:
        """The text of the `bos` or `eos` token, for templates; empty if there is none."""
        function = {"bos": "llama_vocab_bos", "eos": "llama_vocab_eos"}[name]
        token = int(getattr(self._llama, function)(self.vocabulary))
        return self.text(token) if 0 <= token < self._size else ""

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """The ids of `text`; nothing is added. NUL characters are text like any other."""
        data = text.encode("utf-8", errors="replace")
        capacity = len(data) + 8
        tokens = (ctypes.c_int32 * capacity)()
        count = self._tokenize(data, tokens, capacity, special)
        if count < 0:
            tokens = (ctypes.c_int32 * -count)()
            count = self._tokenize(data, tokens, -count, special)
        if count < 0:
            raise EngineError("the text is too long for the tokenizer")
        return tokens[:count]

    def _tokenize(self, data: bytes, tokens: object, capacity: int, special: bool) -> int:
        return int(
            self._llama.llama_tokenize(
                self.vocabulary, data, len(data), tokens, capacity, False, special
            )
        )

    def piece(self, token: int) -> bytes:
        """The bytes the token adds to the text; none for a control token."""
        spelt = self._pieces.get(token)
        return self._spell(token, special=False) if spelt is None else spelt

    def text(self, token: int) -> str:
        """The token as one reads it in a list; control tokens by their names."""
        return self._spell(token, special=True).decode("utf-8", errors="replace")

    def is_end(self, token: int) -> bool:
        """Whether the model says with this token that it has finished."""
        return bool(self._llama.llama_vocab_is_eog(self.vocabulary, token))

    def is_control(self, token: int) -> bool:
        """Whether the token steers the model, or is the unknown token: its text, when parsed with
        `special`, becomes this token instead of text."""
        self._check(token)
        return bool(self._llama.llama_vocab_get_attr(self.vocabulary, token) & _UNKNOWN_OR_CONTROL)

    def longest_piece(self) -> int:
        """Bytes of the longest token's text. Walks the vocabulary: some 50 milliseconds."""
        return max(len(self._spell(token, special=True)) for token in range(self._size))

    def end_tokens(self) -> list[int]:
        """Every token that ends a generation. The first time the vocabulary is walked: tens of
        milliseconds."""
        return list(self._end_tokens)

    @cached_property
    def _end_tokens(self) -> list[int]:
        is_end, every = self._llama.llama_vocab_is_eog, range(self._size)
        return list(compress(every, map(is_end, repeat(self.vocabulary), every)))

    def spell_out(self, texts: Iterable[str]) -> None:
        """From now on the control tokens in `texts` are spelt like any other token."""
        for text in texts:
            for token in filter(self.is_control, self.encode(text, special=True)):
                self._pieces[token] = self._spell(token, special=True)

    def _spell(self, token: int, *, special: bool) -> bytes:
        self._check(token)
        while True:
            length = self._llama.llama_token_to_piece(
                self.vocabulary, token, self._buffer, len(self._buffer), 0, special
            )
            if length >= 0:
                return ctypes.string_at(self._buffer, length)
            self._buffer = ctypes.create_string_buffer(-length)

    def _check(self, token: int) -> None:
        if not 0 <= token < self._size:
            raise EngineError(f"token {token} is not in the vocabulary of {self._size}")
