"""Writes quantise.json: numbers, and the root mean squared error with which llama.cpp's quantisers store them.

Needs llama-cpp-python 0.3.36 and gguf 0.19.0: python quantise.py > quantise.json"""

import base64
import ctypes
import glob
import json
import os

import gguf
import llama_cpp
import numpy as np

TYPES = "Q8_0 Q5_0 Q5_1 Q4_K Q5_K Q6_K".split()
N = 2048

lib = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(llama_cpp.__file__), "lib", "libggml-base.so*"))[0])
lib.ggml_quantize_chunk.restype = ctypes.c_size_t
lib.ggml_quantize_chunk.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]


def rmse(x, name):
    t = gguf.GGMLQuantizationType[name]
    block, size = gguf.GGML_QUANT_SIZES[t]
    out = np.zeros(x.size // block * size, np.uint8)
    lib.ggml_quantize_chunk(int(t), x.ctypes.data, out.ctypes.data, 0, 1, x.size, None)
    back = gguf.quants.dequantize(out, t).astype(np.float64)
    return float(np.sqrt(np.mean((back - x.astype(np.float64)) ** 2)))


r = np.random.default_rng(20261123)
kinds = {
    "N(0, 0.05)": r.standard_normal(N) * 0.05,
    "N(0.02, 0.05)": r.standard_normal(N) * 0.05 + 0.02,
    "Student's t, 4 degrees of freedom": r.standard_t(4, N) * 0.05,
    "N(0, 1), each 256 at another scale": r.standard_normal(N) * np.repeat(10.0 ** -np.arange(N // 256), 256),
}
out = []
for kind, x in kinds.items():
    x = np.ascontiguousarray(x, np.float32)
    out.append({"kind": kind, "f32_base64": base64.b64encode(x.tobytes()).decode(), "rmse": {t: rmse(x, t) for t in TYPES}})
print(json.dumps(out, indent=1))
