"""Makes the folders beside it: tiny random models and what PyTorch and transformers compute for them.

    python goldens.py        (made with torch 2.6.0, transformers 5.23.0, safetensors 0.8.0)

Each folder is a Hugging Face model (config.json, model.safetensors) plus expected.safetensors:
    tokens.0, tokens.1        token ids of two sequences (as float32)
    weights.0, weights.1      the loss is -sum(weight * logprob of the next token), the last position has none
    logits.i, logp.i          of the base model
    grad.NAME                 of the loss over both sequences, for each full parameter
    lora.NAME                 tensors of a LoRA of rank 4, alpha 8 on all linears and the head, by PEFT's names
    lora_logits.i, lora_logp.i, lora_grad.NAME
    curve.full, curve.lora    the loss before each of ten steps of AdamW (OPTIM below), gradients clipped to norm 1
"""
import json, os
import torch
from safetensors.torch import save_file
from transformers import Gemma3ForCausalLM, Gemma3TextConfig, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

OPTIM = dict(lr=1e-2, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.01)
RANK, ALPHA = 4, 8.0
common = dict(vocab_size=67, num_hidden_layers=2, rms_norm_eps=1e-5, max_position_embeddings=256, attn_implementation="eager",
              bos_token_id=1, eos_token_id=2)
MODELS = {
    "llama": (LlamaForCausalLM, LlamaConfig(hidden_size=32, intermediate_size=48, num_attention_heads=4, num_key_value_heads=2,
        tie_word_embeddings=False, rope_parameters=dict(rope_type="llama3", rope_theta=500.0, factor=4.0, low_freq_factor=1.0,
        high_freq_factor=4.0, original_max_position_embeddings=32), **common)),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config(hidden_size=24, intermediate_size=40, num_attention_heads=3, num_key_value_heads=1,
        tie_word_embeddings=False, **common)),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config(hidden_size=24, intermediate_size=40, num_attention_heads=4, num_key_value_heads=2,
        head_dim=16, tie_word_embeddings=True, **common)),
    "gemma3": (Gemma3ForCausalLM, Gemma3TextConfig(hidden_size=24, intermediate_size=40, num_attention_heads=4, num_key_value_heads=1,
        head_dim=16, query_pre_attn_scalar=20, sliding_window=7, layer_types=["sliding_attention", "full_attention"],
        rope_parameters=dict(sliding_attention=dict(rope_type="default", rope_theta=100.0),
            full_attention=dict(rope_type="linear", factor=2.0, rope_theta=500.0)), **common)),
}


class LoRA(torch.nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        out, inp = base.weight.shape
        self.A = torch.nn.Parameter(torch.randn(RANK, inp) * inp ** -0.5)
        self.B = torch.nn.Parameter(torch.randn(out, RANK) * 0.1)

    def forward(self, x):
        return self.base(x) + (ALPHA / RANK) * (x @ self.A.T) @ self.B.T


def randomise(model):
    for name, p in model.named_parameters():
        with torch.no_grad():
            p.copy_(("gemma" not in model.config.model_type) + 0.2 * torch.randn_like(p) if "norm" in name else torch.randn_like(p) * (0.5 if "embed" in name else 0.15))


def logp(model, ids):
    logits = model(input_ids=ids[None]).logits[0]
    return logits, torch.log_softmax(logits[:-1], -1).gather(1, ids[1:, None])[:, 0]


def loss(model, seqs, weights):
    return sum(-(w * logp(model, ids)[1]).sum() for ids, w in zip(seqs, weights))


def curve(model, params, seqs, weights):
    opt = torch.optim.AdamW(params, **OPTIM)
    out = []
    for _ in range(10):
        opt.zero_grad()
        l = loss(model, seqs, weights)
        l.backward()
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        opt.step()
        out.append(l.item())
    return torch.tensor(out)


def make(name, cls, config):
    torch.manual_seed(7)
    model = cls(config).float()
    randomise(model)
    config.dtype = "float32"
    os.makedirs(name, exist_ok=True)
    config.architectures = [cls.__name__]
    json.dump(config.to_dict(), open(f"{name}/config.json", "w"), indent=1, sort_keys=True)
    state = {k: v.clone().contiguous() for k, v in model.state_dict().items() if not (config.tie_word_embeddings and "lm_head" in k)}
    save_file(state, f"{name}/model.safetensors", {"format": "pt"})

    seqs = [torch.randint(0, 67, (n,)) for n in (41, 6)]
    weights = [torch.randn(len(s) - 1) * 0.3 + 0.1 for s in seqs]
    out = {}
    for i, (ids, w) in enumerate(zip(seqs, weights)):
        out[f"tokens.{i}"], out[f"weights.{i}"] = ids.float(), w
        out[f"logits.{i}"], out[f"logp.{i}"] = (t.detach() for t in logp(model, ids))
    loss(model, seqs, weights).backward()
    for n, p in model.named_parameters():
        out["grad." + n] = p.grad.clone()

    # LoRA around every linear, by hand: its definition is one line
    for p in model.parameters():
        p.requires_grad_(False)
    loras = {}
    for n, m in list(model.named_modules()):
        if isinstance(m, torch.nn.Linear):
            parent = model.get_submodule(n.rpartition(".")[0])
            loras[n] = LoRA(m)
            setattr(parent, n.rpartition(".")[2], loras[n])
    params = []
    for n, m in loras.items():
        for x in "AB":
            out[f"lora.base_model.model.{n}.lora_{x}.weight"] = getattr(m, x).detach().clone()
            params.append(getattr(m, x))
    for i, ids in enumerate(seqs):
        out[f"lora_logits.{i}"], out[f"lora_logp.{i}"] = (t.detach() for t in logp(model, ids))
    loss(model, seqs, weights).backward()
    for n, m in loras.items():
        for x in "AB":
            out[f"lora_grad.base_model.model.{n}.lora_{x}.weight"] = getattr(m, x).grad.clone()
    out["curve.lora"] = curve(model, params, seqs, weights)

    model = cls(config).float()
    model.load_state_dict(state, strict=False)
    out["curve.full"] = curve(model, list(model.parameters()), seqs, weights)
    save_file({k: v.contiguous() for k, v in out.items()}, f"{name}/expected.safetensors")
    print(name, os.path.getsize(f"{name}/expected.safetensors"), out["curve.full"].tolist(), out["curve.lora"].tolist())


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    torch.set_num_threads(1)
    for name, (cls, config) in MODELS.items():
        make(name, cls, config)
