"""PyTorch, transformers and peft as a peer: answers requests of bench/peers, one JSON line each."""

import gc
import time

import peer
import peft
import torch
import transformers

DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32}


class Torch:
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}, peft {peft.__version__}"
    key = model = cache = None

    def load(self, r):
        """Loads the model of a request unless it is there: with a LoRA on all linears for training, else the bare one."""
        torch.set_num_threads(r["threads"])
        rank = r["rank"] if r["work"] == "train" else 0
        recompute = bool(rank) and r["recompute"]
        key = (r["model"], r["dtype"], rank, r["compile"], recompute)
        if key == self.key:
            return
        self.key = self.model = self.cache = None
        gc.collect()
        model = transformers.AutoModelForCausalLM.from_pretrained(r["model"], dtype=DTYPES[r["dtype"]], attn_implementation="sdpa")
        model.config.use_cache = not rank
        if rank:
            # Adapters of the base's dtype: peft's default of float32 beside bf16 is slower.
            lora = peft.LoraConfig(r=rank, lora_alpha=rank, lora_dropout=0, target_modules="all-linear")
            model = peft.get_peft_model(model, lora, autocast_adapter_dtype=False)
        if recompute:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        model = model.train() if rank else model.eval()
        if r["compile"]:
            model.forward = torch.compile(model.forward, dynamic=False)
        self.key, self.model = key, model

    def train(self, r):
        ids = torch.tensor(r["ids"])
        self.model.zero_grad(set_to_none=True)
        start = time.perf_counter()
        loss = self.model(input_ids=ids, labels=ids).loss
        loss.backward()
        return time.perf_counter() - start, loss.item()

    @torch.inference_mode()
    def prefill(self, r):
        ids = torch.tensor(r["ids"])
        start = time.perf_counter()
        logits = self.model(input_ids=ids, use_cache=True, logits_to_keep=1).logits
        seconds = time.perf_counter() - start
        return seconds, logits[0, -1].float().log_softmax(-1)[0].item()

    @torch.inference_mode()
    def decode(self, r):
        """generate's time for r["steps"] tokens of each sequence, whose context is in the cache before the clock starts."""
        ids = torch.tensor(r["ids"])  # [1,context]: every sequence has keys and values of its own, which are equal
        batch, context, steps = r["sequences"], ids.shape[1], r["steps"]
        if self.cache is None or self.cache[0] != batch:
            kv = transformers.DynamicCache(config=self.model.config)
            self.model(input_ids=ids, past_key_values=kv, use_cache=True, logits_to_keep=1)
            kv.batch_repeat_interleave(batch)
            self.cache = batch, kv
        kv = self.cache[1]
        kv.crop(context - 1 - kv.get_seq_length())  # generate computes the last token of the context, for its logits
        start = time.perf_counter()
        out = self.model.generate(
            input_ids=ids.repeat(batch, 1), attention_mask=torch.ones(batch, context, dtype=torch.long), past_key_values=kv,
            max_new_tokens=steps, min_new_tokens=steps, do_sample=True, temperature=1.0, top_k=0, top_p=1.0, eos_token_id=None, pad_token_id=0)
        seconds = time.perf_counter() - start
        assert out.shape == (batch, context + steps), out.shape
        return seconds, 0.0


peer.serve(Torch())
