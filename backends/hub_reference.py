"""What a user writes for a model on the hub, taken apart.

Knows the forms and the hub's rules for names; asks nobody whether there is such a thing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class HubReference:
    """`str()` gives the canonical name, which parses to an equal reference."""

    repo: str
    """OWNER/NAME."""
    revision: str | None = None
    """None is the branch `main`."""
    quant: str | None = None
    """As written, in any case; may be the name of a file."""
    file: str | None = None
    """A path inside the repository, ending in .gguf."""

    def __str__(self) -> str:
        name = f"{self.repo}/{self.file}" if self.file else self.repo
        at = f"@{self.revision}" if self.revision else ""
        return f"{name}{at}" + (f":{self.quant}" if self.quant else "")


def parse_reference(text: str, *, endpoint: str | None = None) -> HubReference | None:
    """The reference that the text is; None when it is none of the hub's forms.

    endpoint: the hub's address, HF_ENDPOINT by default; addresses on other hosts than this one
    and the public hub's are refused. Raises UsageError for a bad name in a hub form.
    """
    raise NotImplementedError
