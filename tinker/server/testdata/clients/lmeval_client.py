"""What unmodified lm-evaluation-harness gets from `trinity serve`: log-likelihoods by completions, answers by chats."""

import importlib.metadata
import json
import os
import urllib.request

from checks import BASE, KEY, QUESTION, TEXT, URL, expect, report
from lmeval import CHOICE, UNTIL, choices, run, task

FOLDER = os.environ["CLIENTS_FOLDER"]
DOCS = [{"question": f"What is {a} + {b}?", "choices": [f" {a + b}", f" {a + b + 1}", " no such number"], "answer": 0} for a in (3, 5, 8) for b in (2, 4)]


def post(route, **body):
    request = urllib.request.Request(URL + "/" + route, json.dumps({"model": BASE, **body}).encode(), {
        "Content-Type": "application/json", "Authorization": "Bearer " + KEY})
    with urllib.request.urlopen(request) as r:
        return json.load(r)


def likelihood(question, choice):
    """The log-likelihood of a choice after a question, from the tokens' own logprobs."""
    ids = post("tokenize", prompt=question + choice, add_special_tokens=False)["tokens"]
    begin = len(post("tokenize", prompt=question, add_special_tokens=False)["tokens"])
    c = post("v1/completions", prompt=ids, echo=True, logprobs=1, max_tokens=1, temperature=0)["choices"][0]
    return sum(c["logprobs"]["token_logprobs"][begin:len(ids)])


def loglikelihood(tokenized):
    rows = run(task("choice", CHOICE, DOCS), "local-completions", "completions", model=BASE, tokenizer=FOLDER, tokenizer_backend="huggingface",
               tokenized_requests=tokenized)
    expect(len(rows), len(DOCS))
    for doc, (got, right) in zip(DOCS, choices(rows)):
        for choice, (value, _) in zip(doc["choices"], got):
            if abs(value - likelihood(doc["question"], choice)) > 1e-3:
                raise AssertionError(f"{doc['question']}{choice}: {value}, want {likelihood(doc['question'], choice)}")
        best = max(range(3), key=lambda i: got[i][0])
        expect(float(right), float(best == doc["answer"]))


def until():
    rows = run(task("until", UNTIL, [{"question": TEXT, "answer": "7"}] * 3), "local-chat-completions", "chat/completions", "--apply_chat_template", model=BASE)
    m = post("v1/chat/completions", messages=QUESTION, max_tokens=40, temperature=0, stop=["</think>"])["choices"][0]["message"]
    expect([r["resps"][0][0] for r in rows], [m["content"]] * 3)


report("lm-eval " + importlib.metadata.version("lm-eval"), [
    ("completions", "local-completions: multiple choice by echo and logprobs, tokenized_requests=true", lambda: loglikelihood(True)),
    ("completions", "the same, tokenized_requests=false", lambda: loglikelihood(False)),
    ("chat/completions", "local-chat-completions: generate_until", until),
])
