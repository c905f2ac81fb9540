"""Loads what trinity wrote into peft and transformers and compares logprobs: python check.py CASES.json

CASES.json is a list of {name, base, adapter, merged, tokens, logprobs, bound}: folders, a sequence, the logprobs of its tokens after the
first, and by how much they may differ.
"""
import json, sys
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM


def load(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")


def logprobs(model, ids):
    with torch.no_grad():
        logits = model(input_ids=ids[None]).logits[0]
    return torch.log_softmax(logits[:-1], -1).gather(1, ids[1:, None])[:, 0]


failed = False
for case in json.load(open(sys.argv[1])):
    ids, want = torch.tensor(case["tokens"]), torch.tensor(case["logprobs"])
    plain = logprobs(load(case["base"]), ids)
    adapted = PeftModel.from_pretrained(load(case["base"]), case["adapter"])
    for what, model in (("peft", adapted), ("transformers, merged", load(case["merged"]))):
        got = logprobs(model, ids)
        off, moved = float((got - want).abs().max()), float((want - plain).abs().max())
        ok = off <= case["bound"] and moved > 20 * case["bound"]
        failed |= not ok
        print(f"{case['name']}: {what}: off by {off:.2g} (bound {case['bound']:.2g}), the adapter moves them by {moved:.2g}: {'ok' if ok else 'FAILED'}")
sys.exit(failed)
