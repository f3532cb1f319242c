"""The bare script of a turn: a context filled to a depth, then blocks decoded there, on request.

python benchmarks/bare_turn.py MODEL CONTEXT DEPTH; a line "17" on standard input decodes 17 tokens
at that depth, forgets them again, and prints the seconds it took."""

# fmt: off
import importlib.util, sys, time, types  # noqa: E401, I001
from ctypes import c_int32
places = importlib.util.find_spec("llama_cpp").submodule_search_locations
sys.modules["llama_cpp"] = types.ModuleType("llama_cpp")  # the package's __init__ imports numpy
sys.modules["llama_cpp"].__path__ = places
from llama_cpp import llama_cpp as C  # noqa: E402

path, (context, depth) = sys.argv[1], map(int, sys.argv[2:])
C.llama_log_set(quiet := C.llama_log_callback(lambda *_: None), None)
loading, params = C.llama_model_default_params(), C.llama_context_default_params()
loading.use_extra_bufts = b"AMX_INT8 = 1" not in C.llama_print_system_info()  # as nextok has it
model = C.llama_model_load_from_file(path.encode(), loading)
params.n_ctx, params.n_batch, params.n_ubatch, params.kv_unified = context, 512, 512, True
params.n_threads = params.n_threads_batch = 1
llama = C.llama_init_from_model(model, params)
tokens = (c_int32 * 512)(*range(1000, 1512))
for start in range(0, depth, 512):
    C.llama_decode(llama, C.llama_batch_get_one(tokens, min(512, depth - start)))
print("ready", flush=True)
for line in sys.stdin:
    began = time.monotonic()
    C.llama_decode(llama, C.llama_batch_get_one(tokens, int(line)))
    C.llama_synchronize(llama)
    print(time.monotonic() - began, flush=True)
    C.llama_memory_seq_rm(C.llama_get_memory(llama), 0, depth, -1)
