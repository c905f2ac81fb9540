"""Compares GGUF files that trinity convert wrote, in llama.cpp, with the job they are of: python compare.py FOLDER

FOLDER has base-f32.gguf, lora.gguf, f16.gguf, bf16.gguf, q8_0.gguf, q4_k_m.gguf, and ours.json of main.go: prompts, the job's greedy
answers, and their logprobs in the job's own arithmetic and in float32. Keys and values are kept in float32."""

import ctypes
import json
import os
import sys

import gguf
import llama_cpp
import numpy as np
import torch
import transformers
from llama_cpp import Llama
from peft import PeftModel, __version__ as peft_version
from transformers import AutoModelForCausalLM

folder = sys.argv[1]
ours = json.load(open(os.path.join(folder, "ours.json")))
answers = ours["answers"]
failed = False


def judge(what, value, bound):
    global failed
    ok = value <= bound
    failed |= not ok
    print(f"{what}: {value:.5f} (at most {bound:g}){'' if ok else ' FAILED'}")


def log_softmax(x):
    x = x.astype(np.float64)
    x -= x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def path(kind):
    return os.path.join(folder, kind + ".gguf")


def load(file, lora=None):
    return Llama(file, n_ctx=512, n_batch=512, logits_all=True, type_k=0, type_v=0, lora_path=lora, n_threads=os.cpu_count(), verbose=False)


def logprobs(llm, ids):
    llm.reset()
    llm.eval(ids)
    rows = log_softmax(np.array(llm.scores[: len(ids) - 1]))
    return rows[np.arange(len(ids) - 1), ids[1:]]


def greedy(llm, a):
    """The answer of llama.cpp: 32 tokens as the job's, or up to an end."""
    llm.reset()
    ids = a["tokens"][: a["length"]]
    llm.eval(ids)
    out = []
    while len(out) < 32:
        token = int(np.argmax(llm.scores[len(ids) + len(out) - 1]))
        out.append(token)
        if llama_cpp.llama_vocab_is_eog(llm._model.vocab, token):
            break
        llm.eval([token])
    return out


def mean(xs, key):
    """Mean distance of logprobs to ours."""
    return float(np.mean(np.abs(np.concatenate(xs) - np.concatenate([np.array(a[key]) for a in answers]))))


def compare(name, llm):
    """Tokens of the prompts, logprobs and greedy answers of a model."""
    other = [a["prompt"] for a in answers if llm.tokenize(a["prompt"].encode(), add_bos=False, special=True) != a["tokens"][: a["length"]]]
    got = [logprobs(llm, a["tokens"]) for a in answers]
    greedily = [greedy(llm, a) for a in answers]
    same = sum(g == a["tokens"][a["length"] :] for g, a in zip(greedily, answers))
    same32 = sum(g == a["greedy"] for g, a in zip(greedily, answers))
    n = len(answers)
    print(f"{name}: prompts tokenised alike {n - len(other)} of {n}; greedy answers equal the job's {same} of {n}, the job's in float32 {same32}; "
          f"mean |Δ logprob| to the job {mean(got, 'logprobs'):.4f}, to the job in float32 {mean(got, 'float32'):.5f}")
    return got, other, same32


def peft():
    model = AutoModelForCausalLM.from_pretrained(ours["base"], dtype=torch.float32, attn_implementation="eager")
    model = PeftModel.from_pretrained(model, ours["adapter"])
    got = []
    with torch.no_grad():
        for a in answers:
            ids = torch.tensor(a["tokens"])
            rows = torch.log_softmax(model(input_ids=ids[None]).logits[0, :-1].double(), -1)
            got.append(rows.gather(1, ids[1:, None])[:, 0].numpy())
    return got


def types(file):
    return {t.name: t.tensor_type.name for t in gguf.GGUFReader(file).tensors}


def quantised_by_llama(kind, number):
    """What llama.cpp makes of the f16 file."""
    out = path("llama-" + kind)
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype, params.nthread = number, os.cpu_count()
    assert llama_cpp.llama_model_quantize(path("f16").encode(), out.encode(), ctypes.byref(params)) == 0
    return out


tokens = sum(len(a["tokens"]) - 1 for a in answers)
print(f"llama-cpp-python {llama_cpp.__version__}, peft {peft_version}, transformers {transformers.__version__}, torch {torch.__version__}; "
      f"{len(answers)} conversations, {tokens} tokens")
moved = float(np.mean(np.abs(np.concatenate([np.array(a["float32"]) - np.array(a["base"]) for a in answers]))))
print(f"the adapter moves a logprob by {moved:.3f} in the mean; ours in bf16 is {mean([np.array(a['float32']) for a in answers], 'logprobs'):.4f} from ours in float32")
failed |= moved < 0.2

with_peft = peft()
llm = load(path("base-f32"), path("lora"))
got, other, same = compare("base f32 + lora", llm)
judge("  mean |Δ logprob| to ours in float32", mean(got, "float32"), 0.01)
distance = np.abs(np.concatenate(got) - np.concatenate(with_peft))
judge("  mean |Δ logprob| to peft's", float(np.mean(distance)), 0.01)
judge("  greatest |Δ logprob| to peft's", float(np.max(distance)), 0.1)
judge("  greedy answers that differ from ours in float32", len(answers) - same, 1)
del llm

for kind, number, bound in (("f16", 0, 0.01), ("bf16", 0, 0.05), ("q8_0", 7, 0), ("q4_k_m", 15, 0)):
    llm = load(path(kind))
    got, wrong, _ = compare(f"{kind} ({os.path.getsize(path(kind)) / 1e6:.1f} MB)", llm)
    other += wrong
    failed |= not llm.metadata.get("tokenizer.chat_template")
    del llm
    if number == 0:
        judge("  mean |Δ logprob| to ours in float32", mean(got, "float32"), bound)
        continue
    theirs = quantised_by_llama(kind, number)
    by_llama, _, _ = compare(f"  llama.cpp's own {kind} of our f16 ({os.path.getsize(theirs) / 1e6:.1f} MB)", load(theirs))
    # llama.cpp's are made of sums that were rounded to f16 before: by chance the one or the other is a fifth better
    judge("  our mean |Δ logprob| as a share of llama.cpp's", mean(got, "float32") / mean(by_llama, "float32"), 1.5)
    ours_types, their_types = types(path(kind)), types(theirs)
    different = sorted(n for n in ours_types.keys() | their_types.keys() if ours_types.get(n) != their_types.get(n))
    print(f"  tensors with another type than llama.cpp's: {len(different)}")
    failed |= bool(different)

failed |= bool(other)
for text in other[:3]:
    print(f"tokenised in another way: {text!r}")
sys.exit(failed)
