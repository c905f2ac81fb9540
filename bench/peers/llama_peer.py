"""llama.cpp as a peer, through llama-cpp-python's low-level interface: prompts and decoding with bf16 or float32 weights, or those of the model's own file."""

import importlib.metadata
import os
import time

import llama_cpp as lib
import llama_gguf
import peer


class Llama:
    versions = f"llama-cpp-python {importlib.metadata.version('llama-cpp-python')}, built for {lib.llama_print_system_info().decode().strip(' |')}"
    path = model = key = context = None
    prepared = None

    def load(self, r):
        path = r["model"], r["dtype"]
        if self.path != path:
            self.close()
            gguf = r["gguf"] if r["dtype"] == "file" else llama_gguf.convert(r["model"], r["dtype"])
            params = lib.llama_model_default_params()
            self.model = lib.llama_model_load_from_file(gguf.encode(), params)
            if r["dtype"] != "file":
                os.remove(gguf)  # it is mapped
            assert self.model, "llama.cpp did not load its file"
            self.path = path
        self.vocab = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(self.model))
        n, length = r["sequences"], len(r["ids"][0]) + r["steps"]
        key = (n, length, r["threads"])
        if key == self.key:
            return
        if self.context:
            lib.llama_free(self.context)
        params = lib.llama_context_default_params()
        params.n_ctx, params.n_seq_max = n * -(-length // 256) * 256, n
        params.n_batch = params.n_ubatch = max(512, n)
        params.n_threads = params.n_threads_batch = r["threads"]
        params.kv_unified = False  # every sequence has keys and values of its own
        self.context = lib.llama_init_from_model(self.model, params)
        assert self.context, "llama.cpp made no context"
        self.key, self.prepared = key, None

    def close(self):
        if self.context:
            lib.llama_free(self.context)
        if self.model:
            lib.llama_model_free(self.model)
        self.context = self.model = self.key = None

    def compute(self, tokens):
        """Runs one batch of (token, position, sequence, whether its logits are wanted)."""
        batch = lib.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for i, (token, pos, seq, logits) in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = token, pos, 1, seq, logits
        code = lib.llama_decode(self.context, batch)
        lib.llama_batch_free(batch)
        assert code == 0, f"llama_decode returned {code}"

    def prefill(self, r):
        ids = r["ids"][0]
        lib.llama_memory_clear(lib.llama_get_memory(self.context), True)
        start = time.perf_counter()
        self.compute([(t, i, 0, i == len(ids) - 1) for i, t in enumerate(ids)])
        lib.llama_synchronize(self.context)
        seconds = time.perf_counter() - start
        return seconds, peer.logprob(lib.llama_get_logits_ith(self.context, -1)[:self.vocab], 0)

    def decode(self, r):
        """Each sequence draws r["steps"] tokens from the whole distribution, behind a context whose keys and values it has."""
        ids, n = r["ids"][0], r["sequences"]
        memory, last = lib.llama_get_memory(self.context), len(ids) - 1
        if not self.prepared:
            self.compute([(t, i, 0, False) for i, t in enumerate(ids[:last])])
            for s in range(1, n):
                lib.llama_memory_seq_cp(memory, 0, s, -1, -1)
            self.prepared = [lib.llama_sampler_init_dist(s) for s in range(n)]
        for s in range(n):
            lib.llama_memory_seq_rm(memory, s, last, -1)
        tokens = [ids[last]] * n
        start = time.perf_counter()
        for step in range(r["steps"]):
            self.compute([(t, last + step, s, True) for s, t in enumerate(tokens)])
            tokens = [lib.llama_sampler_sample(d, self.context, s) for s, d in enumerate(self.prepared)]
        return time.perf_counter() - start, 0.0


lib.llama_backend_init()
peer.serve(Llama())
