"""Compares the logits of GGUF files in llama.cpp with those of transformers: python compare.py FILES FOLDERS FAMILY...

FILES has FAMILY.gguf; FOLDERS/FAMILY/expected.safetensors has tokens, rows and logits in float32. llama.cpp keeps keys and values in float32
here: in float16, its default, a router of experts that is near a tie chooses another one.
"""
import sys

import llama_cpp
import numpy
from safetensors.numpy import load_file

files, folders, *families = sys.argv[1:]
print(f"llama-cpp-python {llama_cpp.__version__}; keys and values in float32\n")
print("| model | positions | largest logit | largest difference |\n|---|---|---|---|")
failed = []
for family in families:
    want = load_file(f"{folders}/{family}/expected.safetensors")
    tokens, rows = want["tokens"].ravel().astype(int).tolist(), want["rows"].ravel().astype(int)
    model = llama_cpp.Llama(f"{files}/{family}.gguf", n_ctx=len(tokens) + 8, n_batch=len(tokens), n_threads=1, logits_all=True, type_k=0, type_v=0, verbose=False)
    model.eval(tokens)
    logits = want["logits"].reshape(len(rows), -1)
    most = float(numpy.abs(logits).max())
    difference = float(numpy.abs(model.scores[rows] - logits).max())
    print(f"| {family} | {len(tokens)} | {most:.3f} | {difference:.1e} |", flush=True)
    if not difference <= 1e-4 * most:
        failed.append(family)
if failed:
    sys.exit("another model in llama.cpp: " + ", ".join(failed))
