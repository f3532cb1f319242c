"""The flags that say which model reads what."""

from __future__ import annotations

from functools import partial

from nextok.cli.commands import CommandName
from nextok.cli.flag_types import Choice, Encoding, JsonObject, Path, Switch, Text, one_of
from nextok.cli.flags import PROMPTS, RUNS, Flag, flag
from nextok.cli.number_types import Number

_SIZED: tuple[CommandName, ...] = (*RUNS, "show")
_BUILT: tuple[CommandName, ...] = (*RUNS, "info")
_TIMED: tuple[CommandName, ...] = (*RUNS, "bench")
_NAMING: tuple[CommandName, ...] = (
    *PROMPTS, "chat", "batch", "lab", "bench", "show", "pull", "verify", "info",
)  # fmt: skip
_CHATTING: tuple[CommandName, ...] = (*PROMPTS, "chat", "batch")
_TYPED: tuple[CommandName, ...] = ("generate", "render", "tokens")
_BATCH = Number(low=1, high=2**20, whole=True)
_CACHE = one_of("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1", name="TYPE")

_model = partial(flag, panel="Model")
_prompt = partial(flag, panel="Prompt", commands=PROMPTS)
_shaping = partial(flag, panel="Prompt", commands=(*PROMPTS, "batch"))
_spoken = partial(flag, panel="Prompt", commands=_CHATTING)
_typed = partial(flag, panel="Prompt", commands=_TYPED, ambient=False)

MODEL_FLAGS: tuple[Flag, ...] = (
    _model(
        "model",
        "-m --model",
        Path(metavar="MODEL", expected="a model: a .gguf file, toy, an alias or a name"),
        "A .gguf file, owner/repo[:QUANT], toy, an alias, or part of a local name.",
        _NAMING,
    ),
    _model(
        "ctx_size",
        "-c --ctx-size",
        Number(low=0, high=2**31 - 1, whole=True),
        "Most tokens, prompt and answer; 0 = all it was trained for. [8192 at most]",
        _SIZED,
        aliases="--ctx --num-ctx",
    ),
    _model(
        "threads",
        "-t --threads",
        Number(low=1, high=1024, whole=True, words={"auto": None}),
        "CPU threads. [auto]",
        _BUILT,
    ),
    _model("batch_size", "-b --batch-size", _BATCH, "Prompt tokens per pass.", _TIMED),
    _model(
        "ubatch_size",
        "-ub --ubatch-size",
        Number(low=1, high=2**20, whole=True, words={"auto": None}),
        "Of those, computed at once. [128, with a GPU 512]",
        _TIMED,
    ),
    _model(
        "gpu_layers",
        "-ngl --gpu-layers",
        Number(low=-1, high=2**31 - 1, whole=True, words={"auto": None, "all": -1}),
        "Layers on the GPU; -1 = all. [auto]",
        (*_TIMED, "info"),
        aliases="--n-gpu-layers",
    ),
    _model(
        "flash_attn",
        "-fa --flash-attn",
        one_of("on", "off", "auto"),
        "Flash attention. [auto]",
        (*_TIMED, "show"),
    ),
    _model(
        "cache_type_k",
        "-ctk --cache-type-k",
        _CACHE,
        "How keys are stored: f32, f16, q8_0, q4_0…",
        (*_TIMED, "show"),
    ),
    _model(
        "cache_type_v",
        "-ctv --cache-type-v",
        _CACHE,
        "How values are stored.",
        (*_TIMED, "show"),
    ),
    _model("mmap", "--mmap", Switch(), "Read the file into memory, do not map it.", _TIMED),
    _model("mlock", "--mlock", Switch(), "Keep the model from being swapped out.", _TIMED),
)

PROMPT_FLAGS: tuple[Flag, ...] = (
    _typed("prompt", "-p --prompt", Text(), "The same as the argument."),
    _typed(
        "file",
        "-f --file",
        Path(),
        "Read a file into the prompt; repeatable; - is standard input.",
        repeatable=True,
    ),
    _spoken(
        "system", "-sys --system", Text(), "What the model is to be.", aliases="--system-prompt"
    ),
    _spoken(
        "fold_system",
        "--fold-system",
        Switch(),
        "Put the system message at the head of the first user message.",
    ),
    _prompt("messages", "--messages", Path(), "A whole conversation, as JSON."),
    _shaping("prefill", "--prefill", Text(), "The beginning of the reply."),
    _shaping("raw", "--raw", Switch(), "No chat template: the prompt as it is.", off="--chat"),
    _shaping("special", "--special", Switch(), "With --raw: parse control tokens."),
    _spoken(
        "escape",
        "-e --escape",
        Switch(),
        "Replace \\n and its like in prompt, system and stops.",
    ),
    _spoken("encoding", "--encoding", Encoding(), "How files and standard input are encoded."),
    _prompt("no_stdin", "--no-stdin", Switch(), "Never read standard input.", off="--stdin"),
    _spoken(
        "chat_template",
        "--chat-template",
        Path(metavar="NAME|FILE", expected="the name of a template or the path of a file"),
        "Use this template, not the model's.",
    ),
    _spoken(
        "chat_template_kwargs", "--chat-template-kwargs", JsonObject(), "What the template is told."
    ),
    _spoken(
        "reasoning",
        "--reasoning",
        Choice(values={"on": True, "off": False, "auto": None}),
        "Ask the model to think first, or not to. [auto]",
    ),
)
