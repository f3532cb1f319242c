"""A program: renders conversations with llama-cpp-python's own formatter.

JSON in, JSON out: a list of {source, messages, variables}, and the text of each or null where
the formatter refuses. A process of its own, because nextok never imports that package whole.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime
from functools import cache
from typing import Any

from llama_cpp.llama_chat_format import Jinja2ChatFormatter


class Formatter(Jinja2ChatFormatter):
    """The reference on the leap day of 2024."""

    @staticmethod
    def strftime_now(f: str) -> str:
        return datetime(2024, 2, 29, 12, 0).strftime(f)


@cache
def formatter(source: str) -> Formatter:
    return Formatter(source, eos_token="<|im_end|>", bos_token="<|endoftext|>")


def render(source: str, messages: list[Any], variables: dict[str, Any]) -> str | None:
    try:
        return formatter(source)(messages=messages, **variables).prompt
    except Exception:
        return None


json.dump([render(**request) for request in json.load(sys.stdin)], sys.stdout)
