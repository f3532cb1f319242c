"""Whether, and how, a prompt is read with the help of what other runs have read of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nextok.backends.folders import states_folder
from nextok.backends.kv_store import KvStore
from nextok.backends.prompt_prefixes import PromptPrefixes
from nextok.backends.prompt_reuse import PromptReuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nextok.backends.options import ContextOptions
    from nextok.cli.console import Console
    from nextok.cli.loaded import Loaded


def prompt_reuse(
    loaded: Loaded,
    options: ContextOptions,
    prompt: Sequence[int],
    *,
    console: Console,
    least_tokens: int,
) -> PromptReuse:
    """With the store that chats have, too. options: the context's."""
    resolved = loaded.resolved
    store = KvStore(
        states_folder(),
        cap_bytes=resolved.chat.state_cap,
        listener=console.plain if resolved.output.verbose else None,
    )
    prefixes = PromptPrefixes(
        store,
        prompt,
        identity=loaded.weights.state_identity(options),
        pass_tokens=min(options.ubatch_size, options.batch_size),
        least_tokens=least_tokens,
    )
    return PromptReuse(prefixes, at_once=bool(resolved.cache.cache))
