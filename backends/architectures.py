"""Which kinds of GGUF file generate text, by the names in their headers.

Promises a reason for each kind that does not. A name it has never heard of is left to the engine.
"""

from __future__ import annotations

from nextok.backends.gguf_header import Header


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Text generators whose loading is well trodden: no trial in a child process is needed for them.
KNOWN = _names("""
    arcee baichuan bloom chatglm codeshell cohere2 command-r dbrx deci deepseek deepseek2
    ernie4_5 ernie4_5-moe exaone exaone4 falcon falcon-h1 gemma gemma2 gemma3 gemma3n gemma4
    glm4 glm4moe gpt-oss gpt2 gptj gptneox granite granitehybrid granitemoe grok hunyuan-dense
    hunyuan-moe internlm2 jais jamba lfm2 lfm2moe llama llama4 mamba mamba2 minicpm minicpm3
    mistral3 mpt nemotron nemotron_h olmo olmo2 olmoe openelm orion phi2 phi3 phimoe plamo qwen
    qwen2 qwen2moe qwen2vl qwen3 qwen35 qwen35moe qwen3moe qwen3next qwen3vl qwen3vlmoe refact
    rwkv6 rwkv7 seed_oss smollm3 stablelm starcoder starcoder2 xverse
    """)

#: No attention at all: no heads, no KV cache that grows with the text.
RECURRENT = _names("mamba mamba2 rwkv6 rwkv6qwen2 rwkv7 arwkv7")

#: Attention in some layers, a recurrent state in the others.
HYBRID = _names("""
    jamba falcon-h1 plamo2 granitehybrid lfm2 lfm2moe nemotron_h nemotron_h_moe qwen3next
    kimi-linear kimi-k3 bailingmoe3 glm5-next qwen35 qwen35moe qwen4exp deepseek4 minimax-01
    """)

#: Rotary embedding over the whole head, keys as long as values: their graphs insist on it.
FULL_ROTARY = _names("""
    apertus arcee arctic baichuan chameleon codeshell cogvlm cohere2moe dbrx deci deepseek dots1
    ernie4_5 ernie4_5-moe exaone exaone-moe exaone4 falcon granite granitemoe granite_swa
    graniteswitch grok grovemoe hunyuan-moe hunyuan-dense hunyuan_vl hy_v3 internlm2 jais2 llama
    llama4 maincoder mellum mistral3 olmo olmo2 olmoe orion paddleocr pangu-embedded plamo qwen2
    qwen2moe qwen2vl qwen3 qwen3moe qwen3vl qwen3vlmoe seed_oss smallthinker smollm3 starcoder2
    talkie xverse
    """)

_EMBEDDING = "an embedding model, which makes vectors and no text"
_DIFFUSION = "a diffusion language model, which does not write one token after the other"
_IMAGES = "a model that makes images or films"
_SPEECH = "a speech model"
_DRAFT = "a draft head, which only works beside its large model"
_VISION = "the vision part (mmproj) of a model: give the language model's file"
_WHAT = {
    _EMBEDDING: "bert modern-bert nomic-bert nomic-bert-moe neo-bert jina-bert-v2 jina-bert-v3"
    " eurobert gemma-embedding llama-embed t5encoder",
    "an encoder-decoder model, and only decoders are run here": "t5",
    _DIFFUSION: "dream llada llada-moe rnd1",
    _VISION: "clip mmproj",
    _DRAFT: "eagle3 dflash gemma4-assistant",
    _SPEECH: "wavtokenizer-dec qwen3tts pockettts whisper",
    _IMAGES: "flux sd1 sdxl sd3 aura hidream ltxv hyvid wan lumina2 qwen_image cosmos",
    "a control vector, to be added to a model": "controlvector",
}
_NO_GENERATOR = {name: what for what, names in _WHAT.items() for name in names.split()}

_NO_MODEL = {
    "adapter": "an adapter (LoRA), to be added to a model",
    "mmproj": _VISION,
    "imatrix": "an importance matrix, used when quantising a model",
}


def no_generator(header: Header) -> str | None:
    """What the file is instead of a text generator; None when it may be one."""
    kind = _NO_MODEL.get(header.text("general.type") or "")
    what = kind or _NO_GENERATOR.get(header.architecture)
    if what is None and _embeds(header):
        return _EMBEDDING
    return what


def _embeds(header: Header) -> bool:
    """Generators are causal and keep every position; whoever pools makes one vector of them."""
    if header.metadata.get(header.of_architecture("attention.causal")) is False:
        return True
    return (header.integer(header.of_architecture("pooling_type")) or 0) in (1, 2, 3, 4)
