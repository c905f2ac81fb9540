"""vLLM's CPU build as a peer: prompts and decoding, one step of its engine after another in this process."""

import itertools
import os
import random
import time

os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "3")  # GiB: 64 sequences of 300 tokens and more
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", f"0-{os.cpu_count() - 1}")  # else it keeps one to itself
os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))

import peer  # noqa: E402
import torch  # noqa: E402
import vllm  # noqa: E402
from vllm import SamplingParams  # noqa: E402


class VLLM:
    versions = f"vllm {vllm.__version__}, torch {torch.__version__}"
    key = engine = running = None
    drawn = 0  # by each of what runs
    names = map(str, itertools.count())

    def load(self, r):
        key = (r["model"], r["dtype"], r["compile"])
        if key == self.key:
            return
        self.key = self.engine = self.running = None
        self.engine = vllm.LLM(
            r["model"], skip_tokenizer_init=True, dtype={"bf16": "bfloat16", "f32": "float32"}[r["dtype"]], max_model_len=1024, max_num_seqs=64, max_num_batched_tokens=2048,
            enable_prefix_caching=False, enforce_eager=not r["compile"]).llm_engine
        self.key = key

    def add(self, ids, **sampling):
        self.engine.add_request(next(self.names), {"prompt_token_ids": ids}, SamplingParams(detokenize=False, ignore_eos=True, **sampling))

    def finish(self):
        """Ends what is under way."""
        self.engine.abort_request([str(n) for n in range(int(next(self.names)))])
        while self.engine.has_unfinished_requests():
            self.engine.step()
        self.running = None

    def prefill(self, r):
        ids = r["ids"][0]
        self.finish()
        self.add(ids + [0], max_tokens=1, prompt_logprobs=0)  # for the check, outside the clock
        while not (out := self.engine.step()):
            pass
        check = out[0].prompt_logprobs[-1][0].logprob
        self.add(ids, max_tokens=1, temperature=1.0)
        start = time.perf_counter()
        while not self.engine.step():
            pass
        return time.perf_counter() - start, check

    def decode(self, r):
        """Requests with prompts of their own go on and on; each repetition is the next r["steps"] steps. Their context is r["ids"]'s
        length after some repetitions; when it has become half as long again they begin anew, before the clock starts."""
        n, context, steps = r["sequences"], len(r["ids"][0]), r["steps"]
        if self.running != n or self.drawn + steps > context // 2:
            self.finish()
            rng = random.Random(1)
            for _ in range(n):
                self.add(rng.sample(r["ids"][0], context - 4 * steps), max_tokens=512, temperature=1.0)
            drawn = set()
            while len(drawn) < n:  # until the last one's prompt is computed
                drawn.update(o.request_id for o in self.engine.step())
            self.running, self.drawn = n, 0
        self.drawn += steps
        start = time.perf_counter()
        for _ in range(steps):
            out = self.engine.step()
            assert len(out) == n, f"a step of {len(out)} sequences"
        return time.perf_counter() - start, 0.0


peer.serve(VLLM())
