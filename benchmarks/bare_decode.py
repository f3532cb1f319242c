"""The bare script: nextok's parameters, one batch, and nothing but sample and decode, in turn.

python benchmarks/bare_decode.py MODEL CONTEXT TOKENS SEED PROMPT_ID... -> one line of JSON"""

# fmt: off
import importlib.util, json, math, resource, sys, time, types  # noqa: E401, I001
from ctypes import c_char_p, c_int32
places = importlib.util.find_spec("llama_cpp").submodule_search_locations
sys.modules["llama_cpp"] = types.ModuleType("llama_cpp")  # the package's __init__ imports numpy
sys.modules["llama_cpp"].__path__ = places
from llama_cpp import llama_cpp as C  # noqa: E402

path, (context, count, seed, *prompt) = sys.argv[1], map(int, sys.argv[2:])
C.llama_log_set(quiet := C.llama_log_callback(lambda *_: None), None)
loading, params = C.llama_model_default_params(), C.llama_context_default_params()
loading.use_extra_bufts = b"AMX_INT8 = 1" not in C.llama_print_system_info()  # as nextok has it
model = C.llama_model_load_from_file(path.encode(), loading)
params.n_ctx, params.n_batch, params.n_ubatch, params.kv_unified = context, 512, 512, True
params.n_threads = params.n_threads_batch = 1
llama, vocab = C.llama_init_from_model(model, params), C.llama_model_get_vocab(model)
size, chain = C.llama_vocab_n_tokens(vocab), C.llama_sampler_chain_init(C.llama_sampler_chain_default_params())  # noqa: E501
ends = [C.llama_logit_bias(i, -math.inf) for i in range(size) if C.llama_vocab_is_eog(vocab, i)]
for name, *values in (("logit_bias", size, len(ends), (C.llama_logit_bias * len(ends))(*ends)), ("penalties", size, 64, 1, 0, 0), ("dry", vocab, 0, 1.75, 2, context, (c_char_p * 4)(b"\n", b":", b'"', b"*"), 4), ("top_n_sigma", -1), ("top_k", 40), ("typical", 1, 1), ("top_p", 0.95, 1), ("min_p", 0.05, 1), ("xtc", 0, 0.1, 1, seed), ("temp_ext", 0.8, 0, 1), ("dist", seed)):  # noqa: E501
    C.llama_sampler_chain_add(chain, getattr(C, f"llama_sampler_init_{name}")(*values))
tokens, times, ids = (c_int32 * len(prompt))(*prompt), [], []
C.llama_decode(llama, batch := C.llama_batch_get_one(tokens, len(prompt)))
for _ in range(count):
    ids.append(C.llama_sampler_sample(chain, llama, -1))
    times.append(time.monotonic())
    batch.n_tokens, tokens[0] = 1, ids[-1]
    C.llama_decode(llama, batch)
print(json.dumps({"tps": (count - 1) / (times[-1] - times[0]), "ids": ids, "kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))  # noqa: E501
