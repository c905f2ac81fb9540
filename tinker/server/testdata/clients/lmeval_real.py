"""Real weights: lm-evaluation-harness's log-likelihoods over `trinity serve` beside those of transformers in float32, from the same folder.

Each must be within MARGIN, and a document's best choice may differ only where transformers' best two are closer than that.
"""

import importlib.metadata
import json
import os
import pathlib
import subprocess

from checks import expect, report
from lmeval import CHOICE, choices, run, task

MARGIN = 0.2  # nats
FOLDER = os.environ["CLIENTS_FOLDER"]
DOCS = [json.loads(line) for line in (pathlib.Path(__file__).parent / "choice.jsonl").read_text().splitlines()]

# A program for a Python that has torch: for each pair (context, continuation) the log-likelihood of the continuation.
REFERENCE = """
import json, sys, torch, transformers
folder = sys.argv[1]
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
out = []
for context, more in json.load(sys.stdin):
    ids, begin = tokenizer.encode(context + more), len(tokenizer.encode(context))
    with torch.no_grad():
        logprobs = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    out.append(sum(logprobs[i - 1, ids[i]].item() for i in range(begin, len(ids))))
print(json.dumps(out))
"""


def reference():
    pairs = [(d["question"], c) for d in DOCS for c in d["choices"]]
    env = {k: v for k, v in os.environ.items() if not k.startswith("HF_")}
    p = subprocess.run([os.environ["CLIENTS_TORCH"], "-c", REFERENCE, FOLDER], input=json.dumps(pairs), env=env, capture_output=True, text=True)
    if p.returncode:
        raise AssertionError(p.stderr[-1500:])
    values = iter(json.loads(p.stdout.splitlines()[-1]))
    return [[next(values) for _ in d["choices"]] for d in DOCS]


def best(values):
    return max(range(len(values)), key=values.__getitem__)


WANT = []


def compare(tokenized):
    if not WANT:
        WANT.extend(reference())
    rows = run(task("choice", CHOICE, DOCS), "local-completions", "completions", model="real", tokenizer=FOLDER, tokenizer_backend="huggingface",
               tokenized_requests=tokenized)
    expect(len(rows), len(DOCS))
    apart, differ, right = [], 0, 0
    for doc, want, (pairs, acc) in zip(DOCS, WANT, choices(rows)):
        got = [x for x, _ in pairs]
        apart += [abs(x - y) for x, y in zip(got, want, strict=True)]
        right += acc
        if best(got) != best(want):
            differ += 1
            if want[best(want)] - want[best(got)] > MARGIN:
                raise AssertionError(f"{doc['question']}: {got} chooses otherwise than {want}")
    if max(apart) > MARGIN:
        raise AssertionError(f"a log-likelihood is {max(apart):.3f} nats from transformers', more than {MARGIN}")
    return (f"{len(apart)} log-likelihoods, at most {max(apart):.4f} and on average {sum(apart) / len(apart):.4f} nats from transformers' in float32; "
            f"{differ} of {len(DOCS)} choices differ; {right:.0f} right")


report("lm-eval " + importlib.metadata.version("lm-eval"), [
    ("completions", "local-completions, real weights, tokenized_requests=true", lambda: compare(True)),
    ("completions", "the same, tokenized_requests=false", lambda: compare(False)),
])
