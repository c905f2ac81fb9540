"""Makes the folders beside it: adapters as Python's peft saves them, and the logits they give.

    python adapters.py       [NAME…]  (made with torch 2.6.0, transformers 5.23.0, peft 0.21.2; phi4mini, lfm2, qwen35 and qwen3moe: 2.15.0, 5.24.0)

Each is of the model in ../families that its name begins with. expected.safetensors is as there, of the model in float32 with the
adapter on it.
"""
import json, os, shutil, sys
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

ADAPTERS = {  # name: LoraConfig, dtype of the file
    "llama32-qv": (dict(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"]), torch.float32),
    "qwen25-all": (dict(r=8, lora_alpha=16, target_modules="all-linear"), torch.float32),
    "qwen3-head": (dict(r=2, lora_alpha=6, target_modules=["gate_proj", "down_proj", "lm_head"]), torch.float32),
    "mistral-rslora": (dict(r=4, lora_alpha=4, use_rslora=True, target_modules=["o_proj", "up_proj"]), torch.bfloat16),
    "llama32-layers": (dict(r=4, lora_alpha=8, target_modules=["q_proj", "up_proj"], layers_to_transform=[1]), torch.float32),
    "qwen25-some": (dict(r=2, lora_alpha=4, target_modules=r".*layers\.(0\.self_attn\.v_proj|1\.mlp\.down_proj|1\.self_attn\.q_proj)"), torch.float32),
    "gemma3-all": (dict(r=4, lora_alpha=8, target_modules="all-linear"), torch.float32),
    "qwen3-pattern": (dict(r=4, lora_alpha=6, target_modules=["q_proj", "o_proj", "up_proj"], rank_pattern={r"0\.self_attn\.(q|o)_proj": 2, "q_proj": 5, "up_proj": 1},
                           alpha_pattern={"layers.1.mlp.up_proj": 3, "o_proj": 5}), torch.float32),
    "phi4mini-all": (dict(r=3, lora_alpha=6, target_modules="all-linear"), torch.float32),
    "qwen35-all": (dict(r=3, lora_alpha=6, target_modules="all-linear"), torch.float32),
    "lfm2-all": (dict(r=3, lora_alpha=6, target_modules="all-linear"), torch.float32),
    "qwen3moe-all": (dict(r=1, lora_alpha=2, target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
                          rank_pattern={r"self_attn\..*|mlp\.(gate|up|down)_proj|lm_head": 3}), torch.float32),
    "llama31-attn": (dict(r=3, lora_alpha=5, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"]), torch.float32),
}


def base(name):
    return AutoModelForCausalLM.from_pretrained(f"../families/{name}", dtype=torch.float32, attn_implementation="eager")


def make(name, config, dtype):
    torch.manual_seed(5)
    shutil.rmtree(name, ignore_errors=True)
    family = name.partition("-")[0]
    model = get_peft_model(base(family), LoraConfig(task_type="CAUSAL_LM", **config))
    for n, p in model.named_parameters():
        if "lora_" in n:
            with torch.no_grad():
                p.copy_(torch.randn_like(p) * 0.15)
    model.base_model.model.config._name_or_path = family
    model.peft_config["default"].base_model_name_or_path = family
    model.save_pretrained(name)
    logits_of(name, family, dtype)


def experts(name, config, dtype):
    """An adapter with a pair of factors for each matrix of each expert, as peft saved it for transformers 4 and reads it for 5. Experts
    have rank r, and all else what rank_pattern says."""
    torch.manual_seed(5)
    shutil.rmtree(name, ignore_errors=True)
    os.makedirs(name)
    family = name.partition("-")[0]
    state = {}
    for n, w in load_file(f"../families/{family}/model.safetensors").items():
        m = n.removesuffix(".weight")
        if m.rsplit(".", 1)[-1] in config["target_modules"]:
            r = config["r"] if ".experts." in m else max(config["rank_pattern"].values())
            state[f"base_model.model.{m}.lora_A.weight"] = torch.randn(r, w.shape[1]) * 0.15
            state[f"base_model.model.{m}.lora_B.weight"] = torch.randn(w.shape[0], r) * 0.15
    save_file(state, f"{name}/adapter_model.safetensors", {"format": "pt"})
    json.dump(dict(peft_type="LORA", task_type="CAUSAL_LM", base_model_name_or_path=family, inference_mode=True, **config),
              open(f"{name}/adapter_config.json", "w"), indent=2, sort_keys=True)
    logits_of(name, family, dtype)


def logits_of(name, family, dtype):
    file = f"{name}/adapter_model.safetensors"
    save_file({k: v.to(dtype).contiguous() for k, v in load_file(file).items()}, file, {"format": "pt"})
    if os.path.exists(f"{name}/README.md"):
        os.remove(f"{name}/README.md")
    model = PeftModel.from_pretrained(base(family), name)
    ids = torch.randint(0, model.config.vocab_size, (100,))
    rows = torch.tensor([0, 1, 31, 32, 63, 99])
    plain = base(family)(input_ids=ids[None]).logits[0][rows]
    logits = model(input_ids=ids[None]).logits[0][rows].detach()
    save_file(dict(tokens=ids.float(), rows=rows.float(), logits=logits.contiguous()), f"{name}/expected.safetensors")
    print(name, sorted(load_file(file))[:2], len(load_file(file)), float((logits - plain).abs().max()))


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    torch.set_num_threads(1)
    for name in sys.argv[1:] or ADAPTERS:
        (experts if "moe" in name else make)(name, *ADAPTERS[name])
