"""Chat templates by name, for models whose file has none or a wrong one.

Promises the shapes that llama.cpp gives to the same names, with the BOS that a family begins
with. Written anew and kept short: no tools, no switches.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from nextok.generation.errors import UsageError

_MAX_CHARACTERS = 1_000_000


def _turns(head: str, tail: str, *, content: str = "m.content", bos: bool = False) -> str:
    """The commonest shape: each message between a head, with its role in it, and a tail."""
    before, after = head.split("ROLE")
    return (
        ("{{ bos_token }}" if bos else "")
        + "{% for m in messages %}"
        + f"{{{{ '{before}' + m.role + '{after}' + ({content}) + '{tail}' }}}}"
        + "{% endfor %}{% if add_generation_prompt %}"
        + f"{{{{ '{before}assistant{after}' }}}}"
        + "{% endif %}"
    )


def _speech(
    *, system: str, user: str, assistant: str, reply: str = "''", folded: bool = False
) -> str:
    """One expression a role, of the content `c`.

    A `folded` system message is no turn: the next user's expression takes it in as `ns.held`.
    """
    return (
        "{% set ns = namespace(held='') %}{{ bos_token }}"
        "{% for m in messages %}{% set c = m.content %}"
        "{% if m.role == 'system' %}"
        + (f"{{% set ns.held = {system} %}}" if folded else f"{{{{ {system} }}}}")
        + f"{{% elif m.role == 'user' %}}{{{{ {user} }}}}{{% set ns.held = '' %}}"
        + f"{{% elif m.role == 'assistant' %}}{{{{ {assistant} }}}}"
        + "{% else %}{{ raise_exception('this template has no role ' ~ m.role) }}{% endif %}"
        + "{% endfor %}{% if add_generation_prompt %}"
        + f"{{{{ {reply} }}}}"
        + "{% endif %}"
    )


def _mistral(user: str, assistant: str) -> str:
    """Up to version 3 the system message stands in front of the user's text."""
    return _speech(system=r"c + '\n\n'", user=user, assistant=assistant, folded=True)


_CHATML = _turns(r"<|im_start|>ROLE\n", r"<|im_end|>\n")
_MISTRAL_V3 = _mistral("'[INST] ' + ns.held + c + '[/INST]'", "' ' + c + '</s>'")

TEMPLATES = {
    "alpaca": _speech(
        system=r"c + '\n\n'",
        user=r"'### Instruction:\n' + c + '\n\n'",
        assistant=r"'### Response:\n' + c + '</s>\n\n'",
        reply=r"'### Response:\n'",
    ),
    "chatml": _CHATML,
    "command-r": _speech(
        system="'<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>' + c|trim + '<|END_OF_TURN_TOKEN|>'",
        user="'<|START_OF_TURN_TOKEN|><|USER_TOKEN|>' + c|trim + '<|END_OF_TURN_TOKEN|>'",
        assistant="'<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' + c|trim + '<|END_OF_TURN_TOKEN|>'",
        reply="'<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>'",
    ),
    "deepseek": _speech(
        system="c",
        user=r"'### Instruction:\n' + c + '\n'",
        assistant=r"'### Response:\n' + c + '\n<|EOT|>\n'",
        reply=r"'### Response:\n'",
    ),
    "deepseek2": _speech(
        system=r"c + '\n\n'",
        user=r"'User: ' + c + '\n\n'",
        assistant="'Assistant: ' + c + '<｜end▁of▁sentence｜>'",
        reply="'Assistant:'",
    ),
    "deepseek3": _speech(
        system=r"c + '\n\n'",
        user="'<｜User｜>' + c",
        assistant="'<｜Assistant｜>' + c + '<｜end▁of▁sentence｜>'",
        reply="'<｜Assistant｜>'",
    ),
    "falcon3": _turns(r"<|ROLE|>\n", r"\n"),
    "gemma": _speech(
        system=r"c|trim + '\n\n'",
        user=r"'<start_of_turn>user\n' + ns.held + c|trim + '<end_of_turn>\n'",
        assistant=r"'<start_of_turn>model\n' + c|trim + '<end_of_turn>\n'",
        reply=r"'<start_of_turn>model\n'",
        folded=True,
    ),
    "granite": _turns("<|start_of_role|>ROLE<|end_of_role|>", r"<|end_of_text|>\n"),
    "llama2": _speech(
        system=r"'<<SYS>>\n' + c + '\n<</SYS>>\n\n'",
        user="('' if loop.index0 <= 1 else bos_token) + '[INST] ' + ns.held + c + ' [/INST]'",
        assistant="c + '</s>'",
        folded=True,
    ),
    "llama3": _turns(
        r"<|start_header_id|>ROLE<|end_header_id|>\n\n",
        "<|eot_id|>",
        content="m.content | trim",
        bos=True,
    ),
    "llama4": _turns(
        r"<|header_start|>ROLE<|header_end|>\n\n", "<|eot|>", content="m.content | trim", bos=True
    ),
    "mistral": _MISTRAL_V3,
    "mistral-v1": _mistral("' [INST] ' + ns.held + c + ' [/INST]'", "' ' + c + '</s>'"),
    "mistral-v3": _MISTRAL_V3,
    "mistral-v3-tekken": _mistral("'[INST]' + ns.held + c + '[/INST]'", "c + '</s>'"),
    "mistral-v7": _speech(
        system="'[SYSTEM_PROMPT] ' + c + '[/SYSTEM_PROMPT]'",
        user="'[INST] ' + c + '[/INST]'",
        assistant="' ' + c + '</s>'",
    ),
    "mistral-v7-tekken": _speech(
        system="'[SYSTEM_PROMPT]' + c + '[/SYSTEM_PROMPT]'",
        user="'[INST]' + c + '[/INST]'",
        assistant="c + '</s>'",
    ),
    "openchat": _speech(
        system="c + '<|end_of_turn|>'",
        user="'GPT4 Correct User: ' + c + '<|end_of_turn|>'",
        assistant="'GPT4 Correct Assistant: ' + c + '<|end_of_turn|>'",
        reply="'GPT4 Correct Assistant:'",
    ),
    "phi3": _turns(r"<|ROLE|>\n", r"<|end|>\n"),
    "phi4": _turns("<|im_start|>ROLE<|im_sep|>", "<|im_end|>"),
    "qwen": _CHATML,
    "vicuna": _speech(
        system=r"c + '\n\n'",
        user=r"'USER: ' + c + '\n'",
        assistant=r"'ASSISTANT: ' + c + '</s>\n'",
        reply="'ASSISTANT:'",
    ),
    "zephyr": _turns(r"<|ROLE|>\n", r"' + eos_token + '\n"),
}


def names() -> tuple[str, ...]:
    """All names, sorted."""
    return tuple(TEMPLATES)


def template_named(name: str) -> str | None:
    """The source of the template with that name."""
    return TEMPLATES.get(name.lower())


def load_template(name_or_path: str) -> str:
    """The template with that name, or else the contents of that file.

    UsageError when it is neither, listing the names, nearest first.
    """
    known = template_named(name_or_path)
    if known is not None:
        return known
    try:
        with Path(name_or_path).open(encoding="utf-8-sig") as file:
            source = file.read(_MAX_CHARACTERS + 1)
    except UnicodeDecodeError as error:
        raise UsageError(
            f"--chat-template {name_or_path}: not UTF-8 at byte {error.start}"
        ) from None
    except FileNotFoundError:
        raise UsageError(
            f"--chat-template {name_or_path}: no such file, and no such name; "
            f"the names are {', '.join(_nearest_first(name_or_path))}"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"--chat-template {name_or_path!r}: {reason}") from None
    if len(source) > _MAX_CHARACTERS or not source.strip():
        raise UsageError(f"--chat-template {name_or_path}: this file is no chat template")
    return source


def _nearest_first(wanted: str) -> list[str]:
    """By likeness, and those that are equally unlike by name."""

    def rank(name: str) -> tuple[float, str]:
        return -difflib.SequenceMatcher(None, wanted.lower(), name).ratio(), name

    return sorted(TEMPLATES, key=rank)
