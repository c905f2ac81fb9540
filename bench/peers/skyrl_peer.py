"""SkyRL's Tinker engine on JAX's CPU backend as a peer: forward_backward of cross_entropy, as its server calls it."""

import importlib.metadata
import os
import time
import typing

import peer
import typing_extensions

os.environ.setdefault("JAX_PLATFORMS", "cpu")
typing.TypedDict = typing_extensions.TypedDict  # before Python 3.12 pydantic refuses the other one, which SkyRL 0.3 uses
import jax  # noqa: E402
from skyrl.backends import jax as engine  # noqa: E402
from skyrl.tinker import types  # noqa: E402


class SkyRL:
    versions = ", ".join(f"{p} {importlib.metadata.version(p)}" for p in ("skyrl", "jax"))
    key = backend = None

    def load(self, r):
        key = (r["model"], r["rank"], r["dtype"])
        if key == self.key:
            return
        self.key = self.backend = None
        jax.config.update("jax_compilation_cache_dir", os.path.join(os.path.dirname(r["model"]), "jax-cache"))
        dtype = {"bf16": jax.numpy.bfloat16, "f32": jax.numpy.float32}[r["dtype"]]
        engine.get_dtype = lambda _: dtype  # else config.json's
        # Slot 0 is the base model's own; loss_chunk_size 0 makes all logits at once, which is no recomputation.
        self.backend = engine.JaxBackend(r["model"], engine.JaxBackendConfig(max_lora_adapters=2, max_lora_rank=r["rank"], loss_chunk_size=0))
        lora = types.LoraConfig(rank=r["rank"], alpha=r["rank"], seed=0, train_attn=True, train_mlp=True, train_unembed=False)
        self.backend.create_model("m", lora)
        self.key = key

    def train(self, r):
        n = len(r["ids"])
        none = [[0.0] * len(ids) for ids in r["ids"]]
        batch = types.PreparedModelPassBatch(
            all_model_inputs=[types.ModelInput(chunks=[types.EncodedTextChunk(tokens=ids)]) for ids in r["ids"]],
            all_targets=[ids[1:] + [0] for ids in r["ids"]],
            all_token_weights=[[1.0] * (len(ids) - 1) + [0.0] for ids in r["ids"]],
            all_sampling_logprobs=none, all_advantages=none, all_values=[[]] * n, all_returns=[[]] * n,
            all_model_ids=["m"] * n, all_loss_fns=["cross_entropy"] * n, all_loss_fn_configs=[None] * n,
            request_batch_slices=[("r", "m", 0, n)])
        start = time.perf_counter()
        out = self.backend.forward_backward(batch)["r"]
        seconds = time.perf_counter() - start
        logp = [x for o in out.loss_fn_outputs for x in o["logprobs"]["data"][:-1]]
        return seconds, -sum(logp) / len(logp)


peer.serve(SkyRL())
