"""`nextok show`: what a model file is, from its header alone."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from nextok.backends.model_check import check_model_file
from nextok.backends.model_facts import ModelFacts, model_facts
from nextok.backends.split_files import first_part
from nextok.cli.answer import json_text
from nextok.cli.console import is_terminal
from nextok.cli.exit_codes import ANSWERED
from nextok.cli.finding import find_model
from nextok.cli.invocation import Invocation
from nextok.cli.loaded import context_limit, recommendations
from nextok.cli.loaded_prompt import plain_stdout
from nextok.cli.table import Row, print_table
from nextok.cli.units import size
from nextok.generation.errors import UsageError

_MOST_CHARACTERS = 120
"""Of a text from the file, on a terminal: about two lines."""
_UNKNOWN = "not in the file"


def show(invocation: Invocation) -> int:
    """Print a table, or with --json everything including the template."""
    resolved = invocation.resolved
    reference = invocation.words[0] if invocation.words else resolved.engine.model
    path = find_model(reference, invocation)
    if path is None:
        raise UsageError("the toy has no file to show: name a .gguf file")
    check_model_file(path)
    engine = resolved.engine
    facts = model_facts(
        first_part(path), type_k=engine.cache_type_k, type_v=engine.cache_type_v
    )  # fmt: skip
    context = context_limit(engine.ctx_size, facts.context_tokens or 0)
    if resolved.output.json:
        texts = {key: str(value) for key, value in facts.sampling.items()}
        sampling = recommendations(texts, invocation.console)
        plain_stdout().line(json_text({**_as_dict(path, facts, context), "sampling": sampling}))
    else:
        print_table(list(_rows(path, facts, context)), invocation)
    return ANSWERED


def _as_dict(path: Path, facts: ModelFacts, context: int) -> Mapping[str, object]:
    each = facts.kv_bytes_per_token
    return {
        "path": str(path),
        **dataclasses.asdict(facts),
        "ctx": context,
        "kv_bytes": None if each is None else each * context,
    }


def _rows(path: Path, facts: ModelFacts, context: int) -> Iterator[Row]:
    yield "file", str(path)
    yield "size", size(facts.file_bytes) + (f" in {facts.files} files" if facts.files > 1 else "")
    yield "name", _brief(facts.name or _UNKNOWN)
    yield "architecture", _brief(facts.architecture)
    yield "parameters", f"{facts.parameters / 1e6:,.0f} million"
    yield "quantisation", facts.quantization or _UNKNOWN
    yield "trained context", _tokens(facts.context_tokens)
    yield "layers", _layers(facts)
    yield "KV cache", _cache(facts, context)
    if facts.sliding_window:
        yield "sliding window", _tokens(facts.sliding_window)
    yield "tokenizer", _brief(_tokenizer(facts))
    yield "chat template", _template(facts.chat_template)
    yield "sampling", _sampling(facts.sampling)
    yield "licence", _brief(facts.license or _UNKNOWN)


def _brief(text: str) -> str:
    """A long text's beginning, where a person looks: some files hold all of their licence."""
    if len(text) <= _MOST_CHARACTERS or not is_terminal(sys.stdout):
        return text
    return text[: _MOST_CHARACTERS - 1] + "…"


def _layers(facts: ModelFacts) -> str:
    return (
        f"{facts.layers} of width {facts.embedding}, "
        f"{facts.heads} heads, {facts.kv_heads} of them with keys and values"
    )


def _cache(facts: ModelFacts, context: int) -> str:
    each = facts.kv_bytes_per_token
    if each is None:
        return "does not grow by a fixed size a token"
    return f"{each:,} bytes a token, {size(each * context)} for --ctx-size {context}"


def _tokenizer(facts: ModelFacts) -> str:
    names = " ".join(name for name in (facts.tokenizer, facts.pre_tokenizer) if name)
    return f"{names or _UNKNOWN}, {facts.vocabulary or 0:,} tokens"


def _template(source: str | None) -> str:
    if source is None:
        return "none: prompts go in as they are (--chat-template gives it one)"
    return f"yes, {len(source):,} characters (nextok show --json prints it)"


def _sampling(recommended: Mapping[str, object]) -> str:
    pairs = (f"{name} {value}" for name, value in recommended.items())
    return ", ".join(pairs) or "no recommendation in the file"


def _tokens(count: int | None) -> str:
    return _UNKNOWN if count is None else f"{count:,} tokens"
