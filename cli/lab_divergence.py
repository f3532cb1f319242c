"""`nextok lab divergence`: from its settings to its findings."""

from __future__ import annotations

from collections.abc import Sequence

from nextok.backends.options import LoadOptions
from nextok.backends.quantizer import quantization
from nextok.cli.lab_bench import Bench
from nextok.cli.lab_settings import DivergenceSettings, LabSettings
from nextok.generation.errors import UsageError
from nextok.lab.divergence import DivergenceOptions, work
from nextok.lab.divergence import run as run_divergence
from nextok.lab.findings import Findings
from nextok.lab.prompt_file import read_prompts
from nextok.lab.prompts import PROMPTS

_PROMPTS, _TOKENS, _FULL_TOKENS = 24, 128, 500
_TYPES = "Q4_0,Q2_K"


def run(bench: Bench) -> Findings:
    """Run it. Raises NextokError and Aborted."""
    own, shared = bench.settings(DivergenceSettings), bench.settings(LabSettings)
    types, prompts = _types(own), _prompts(shared)
    subject = bench.subject()
    reference = own.divergence_against
    options = DivergenceOptions(
        quantizations=types,
        against=None if reference is None else bench.subject(reference),
        prompts=prompts,
        max_tokens=shared.lab_tokens or (_FULL_TOKENS if shared.lab_full else _TOKENS),
        load=_load(bench),
    )
    bench.announce(subject, work(subject, options))
    return run_divergence(subject, options, bench.progress("divergence"))


def _types(own: DivergenceSettings) -> Sequence[str]:
    """By the engine's names. UsageError for one that cannot be made."""
    if own.divergence_against is not None and own.divergence_quantize is not None:
        raise UsageError("--against and --quantize: variants are another model or made of this one")
    texts = (own.divergence_quantize or _TYPES).split(",")
    return [quantization(text) for text in texts if text.strip()]


def _prompts(shared: LabSettings) -> Sequence[str]:
    if shared.lab_prompts is not None:
        return read_prompts(shared.lab_prompts)
    return PROMPTS if shared.lab_full else PROMPTS[:_PROMPTS]


def _load(bench: Bench) -> LoadOptions:
    """As the model itself was loaded."""
    engine = bench.resolved.engine
    options = LoadOptions(mmap=engine.mmap, mlock=engine.mlock)
    return options if engine.gpu_layers is None else options._replace(gpu_layers=engine.gpu_layers)
