"""Makes the folders beside it: tiny random models with the configuration keys of the real files, and their logits.

    python families.py       (made with torch 2.6.0, transformers 5.23.0, safetensors 0.8.0)

"hub" folders have config.json as the files of 2024 on the Hugging Face hub have it, key by key, with smaller sizes; the others as
save_pretrained of transformers 5 writes it. Whatever wrote a folder, transformers reads it back, and that model, in float32, makes
expected.safetensors: tokens [n], rows [m] and logits [m, vocab] of those rows.
"""
import json, os, shutil
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, Gemma3TextConfig, LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config

LLAMA3 = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192, rope_type="llama3")
llama = dict(architectures=["LlamaForCausalLM"], attention_bias=False, attention_dropout=0.0, bos_token_id=90, eos_token_id=[91, 92, 93],
    hidden_act="silu", hidden_size=64, initializer_range=0.02, intermediate_size=72, max_position_embeddings=131072, mlp_bias=False,
    model_type="llama", num_attention_heads=2, num_hidden_layers=2, num_key_value_heads=1, pretraining_tp=1, rms_norm_eps=1e-5,
    rope_scaling=LLAMA3, rope_theta=500000.0, tie_word_embeddings=False, torch_dtype="bfloat16", transformers_version="4.43.0.dev0",
    use_cache=True, vocab_size=96)
qwen = dict(attention_dropout=0.0, bos_token_id=90, eos_token_id=91, hidden_act="silu", hidden_size=48, initializer_range=0.02,
    intermediate_size=64, max_position_embeddings=32768, max_window_layers=2, num_attention_heads=3, num_hidden_layers=2, num_key_value_heads=1,
    rms_norm_eps=1e-6, rope_theta=1000000.0, tie_word_embeddings=True, torch_dtype="bfloat16", use_cache=True, use_sliding_window=False,
    vocab_size=96)
mistral = dict(architectures=["MistralForCausalLM"], attention_dropout=0.0, bos_token_id=1, eos_token_id=2, hidden_act="silu", hidden_size=48,
    initializer_range=0.02, intermediate_size=64, max_position_embeddings=32768, model_type="mistral", num_attention_heads=4,
    num_hidden_layers=2, num_key_value_heads=2, rms_norm_eps=1e-5, rope_theta=1000000.0, sliding_window=None, tie_word_embeddings=False,
    torch_dtype="bfloat16", transformers_version="4.42.0.dev0", use_cache=True, vocab_size=96)

gemma = dict(_sliding_window_pattern=3, architectures=["Gemma3ForCausalLM"], attention_bias=False, attention_dropout=0.0,
    attn_logit_softcapping=None, bos_token_id=2, eos_token_id=1, final_logit_softcapping=None, head_dim=16,
    hidden_activation="gelu_pytorch_tanh", hidden_size=48, initializer_range=0.02, intermediate_size=64,
    layer_types=["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"], max_position_embeddings=32768,
    model_type="gemma3_text", num_attention_heads=4, num_hidden_layers=4, num_key_value_heads=1, pad_token_id=0, query_pre_attn_scalar=20,
    rms_norm_eps=1e-6, rope_local_base_freq=100.0, rope_scaling=None, rope_theta=1000000.0, sliding_window=24, torch_dtype="bfloat16",
    transformers_version="4.55.0.dev0", use_bidirectional_attention=False, use_cache=True, vocab_size=96)

HUB = {  # name: config.json, dtype of the files, bytes per shard
    "llama31": (llama, torch.bfloat16, "40KB"),
    "llama32": (llama | dict(head_dim=32, rope_scaling=LLAMA3 | dict(factor=32.0), tie_word_embeddings=True), torch.bfloat16, "5GB"),
    "llama2": ({k: v for k, v in llama.items() if k not in ("rope_theta", "mlp_bias")} | dict(rope_scaling=None, pretraining_tp=2, eos_token_id=2,
        torch_dtype="float16", num_key_value_heads=2), torch.float16, "5GB"),
    "qwen25": (qwen | dict(architectures=["Qwen2ForCausalLM"], model_type="qwen2", sliding_window=32768, transformers_version="4.43.1"),
        torch.bfloat16, "5GB"),
    "qwen3": (qwen | dict(architectures=["Qwen3ForCausalLM"], model_type="qwen3", attention_bias=False, head_dim=32, rope_scaling=None,
        sliding_window=None, num_attention_heads=4, num_key_value_heads=2, transformers_version="4.51.0"), torch.bfloat16, "5GB"),
    "mistral": (mistral, torch.bfloat16, "40KB"),
    "gemma3": (gemma, torch.bfloat16, "5GB"),
    "nemo": (mistral | dict(head_dim=16, torch_dtype="float32"), torch.float32, "5GB"),  # head_dim is not hidden_size / heads
}
SIZES = dict(vocab_size=96, hidden_size=48, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
SAVED = {
    "llama-t5": (LlamaConfig(rope_parameters=LLAMA3 | dict(rope_theta=500000.0), max_position_embeddings=131072, eos_token_id=[2, 3], **SIZES), torch.bfloat16),
    "qwen2-t5": (Qwen2Config(rope_parameters=dict(rope_type="default", rope_theta=1000000.0), **SIZES), torch.bfloat16),
    "qwen3-t5": (Qwen3Config(head_dim=16, tie_word_embeddings=True, **SIZES), torch.float32),
    "gemma3-t5": (Gemma3TextConfig(head_dim=16, query_pre_attn_scalar=16, sliding_window=40, layer_types=["sliding_attention", "full_attention"],
        rope_parameters=dict(sliding_attention=dict(rope_type="default", rope_theta=10000.0),
            full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1000000.0)), **SIZES), torch.float32),
    "mistral-t5": (MistralConfig(sliding_window=None, rope_parameters=dict(rope_type="linear", factor=2.0, rope_theta=10000.0), **SIZES), torch.float16),
}


def randomise(model, dtype):
    for name, p in model.named_parameters():
        with torch.no_grad():
            p.copy_(("gemma" not in model.config.model_type) + 0.2 * torch.randn_like(p) if "norm" in name else torch.randn_like(p) * (0.5 if "embed" in name else 0.15))
    return model.to(dtype)


def make(name, config, dtype, shard, keys=None):
    torch.manual_seed(11)
    shutil.rmtree(name, ignore_errors=True)
    randomise(AutoModelForCausalLM.from_config(config).float(), dtype).save_pretrained(name, max_shard_size=shard)
    if keys:
        json.dump(keys, open(f"{name}/config.json", "w"), indent=2, sort_keys=True)
    for extra in ("generation_config.json",):
        if os.path.exists(f"{name}/{extra}"):
            os.remove(f"{name}/{extra}")
    model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32, attn_implementation="eager")
    ids = torch.randint(0, config.vocab_size, (200,))
    rows = torch.tensor([0, 1, 31, 32, 63, 120, 199])
    logits = model(input_ids=ids[None]).logits[0][rows].detach()
    save_file(dict(tokens=ids.float(), rows=rows.float(), logits=logits.contiguous()), f"{name}/expected.safetensors")
    print(name, sorted(os.listdir(name)), float(logits.std()))


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    torch.set_num_threads(1)
    kinds = dict(gemma3_text=Gemma3TextConfig, llama=LlamaConfig, qwen2=Qwen2Config, qwen3=Qwen3Config, mistral=MistralConfig)
    for name, (keys, dtype, shard) in HUB.items():
        make(name, kinds[keys["model_type"]](**{k: v for k, v in keys.items() if k != "torch_dtype"}), dtype, shard, keys)
    for name, (config, dtype) in SAVED.items():
        make(name, config, dtype, "5GB")
