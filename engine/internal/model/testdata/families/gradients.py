"""Makes tiny random models of new families in the layout of the real files, and what transformers computes from them.

    python gradients.py [NAME…]          (made with torch 2.15.0 CPU, transformers 5.24.0, safetensors, one thread)

NAME/config.json, NAME/model.safetensors (bf16, names and nesting of the hub's files) and NAME/expected.safetensors, float32:
  tokens [T], rows [m]                the sequence, and the positions that are saved
  logits [m,V], hidden.L [m,D]        hidden.0 is the embedding, hidden.L the output of block L-1; the last one is normed
  weights [T]                         loss = -sum over t of weights[t] * log p(tokens[t+1]); weights[T-1] is 0
  logprobs [T-1], loss [1]
  lora.MODULE.A, lora.MODULE.B        factors: W + 2*B*A; logits, hidden, logprobs and loss are without them, gradients with them
                                      (Qwen3-MoE: W + 12/rank*B*A, rank 2 for an expert, 6 for all else)
  grad.MODULE.A, grad.MODULE.B        their gradients;  full.NAME gradients of small parameters, also with the factors
  lora_logits [m,V]                   with the factors
  greedy [n], prompt [1]              continuation of tokens[:prompt] with a cache; margin [n] is top1 - top2 of each step
  split [1]                           largest gap of logits when tokens come in two calls with a cache and then one by one
"""
import json, os, shutil, sys, traceback
import torch
from safetensors.torch import save_file
import transformers
from transformers import AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from torch.func import functional_call

V, T, PROMPT, MORE, RANK = 96, 100, 41, 24, 2
ROWS = [0, 1, 3, 31, 32, 63, 64, 65, 99]

qwen35 = dict(model_type="qwen3_5_text", attention_bias=False, attn_output_gate=True, attention_dropout=0.0, dtype="bfloat16",
    eos_token_id=90, full_attention_interval=4, head_dim=32, hidden_act="silu", hidden_size=48, initializer_range=0.02,
    intermediate_size=64, layer_types=["linear_attention"] * 3 + ["full_attention"], linear_conv_kernel_dim=4,
    linear_key_head_dim=16, linear_num_key_heads=2, linear_num_value_heads=2, linear_value_head_dim=16,
    max_position_embeddings=262144, mlp_only_layers=[], mtp_num_hidden_layers=1, mtp_use_dedicated_embeddings=False,
    num_attention_heads=2, num_hidden_layers=4, num_key_value_heads=1, rms_norm_eps=1e-6, tie_word_embeddings=True, use_cache=True,
    vocab_size=V, mamba_ssm_dtype="float32", rope_parameters=dict(mrope_interleaved=True, mrope_section=[2, 1, 1], rope_type="default",
        rope_theta=10000000, partial_rotary_factor=0.25))
small = dict(vocab_size=V, hidden_size=48, intermediate_size=64, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
    dtype="bfloat16")
FAMILIES = {  # name: text config
    "qwen35": qwen35,
    "qwen35-gva": qwen35 | dict(linear_num_value_heads=4, num_key_value_heads=2, num_attention_heads=4, tie_word_embeddings=False),
    "smollm3": small | dict(model_type="smollm3", architectures=["SmolLM3ForCausalLM"], no_rope_layers=[1, 1, 1, 0],
        no_rope_layer_interval=4, rope_theta=5000000.0, rope_scaling=None, rms_norm_eps=1e-6, sliding_window=None, use_sliding_window=False,
        layer_types=["full_attention"] * 4, max_window_layers=28, tie_word_embeddings=True, attention_bias=False, mlp_bias=False,
        pretraining_tp=2, bos_token_id=90, eos_token_id=91, pad_token_id=92),
    "granite4": small | dict(model_type="granitemoehybrid", architectures=["GraniteMoeHybridForCausalLM"], num_hidden_layers=2,
        layer_types=["attention", "attention"], num_local_experts=0, num_experts_per_tok=0, shared_intermediate_size=64,
        position_embedding_type="rope", embedding_multiplier=12, residual_multiplier=0.263, attention_multiplier=0.0625, logits_scaling=4,
        rms_norm_eps=1e-5, rope_theta=10000000, rope_scaling=None, tie_word_embeddings=True, mamba_n_heads=6, mamba_d_head=16, mamba_expand=2,
        mamba_d_state=16, bos_token_id=90, eos_token_id=91, pad_token_id=92),
    "lfm2": small | dict(model_type="lfm2", architectures=["Lfm2ForCausalLM"], block_auto_adjust_ff_dim=True, block_ffn_dim_multiplier=1.0,
        block_multiple_of=16, block_ff_dim=96, intermediate_size=96, conv_L_cache=3, conv_bias=False, norm_eps=1e-5, rope_theta=1000000.0,
        layer_types=["conv", "full_attention", "conv", "full_attention"], tie_embedding=True, bos_token_id=90, eos_token_id=91, pad_token_id=92),
    "phi4mini": small | dict(model_type="phi3", architectures=["Phi3ForCausalLM"], num_hidden_layers=2, hidden_size=64,
        partial_rotary_factor=0.75, original_max_position_embeddings=128, max_position_embeddings=2048, rope_theta=10000.0,
        rope_scaling=dict(type="longrope", long_factor=[1.0, 1.2, 1.5, 2.0, 3.0, 4.0], short_factor=[1.0, 1.1, 1.0, 1.0, 1.2, 1.0]),
        sliding_window=262144, tie_word_embeddings=True, rms_norm_eps=1e-5, bos_token_id=90, eos_token_id=91, pad_token_id=92),
    "ministral3": small | dict(model_type="ministral3", architectures=["Ministral3ForCausalLM"], num_hidden_layers=2, head_dim=16,
        max_position_embeddings=1024, rms_norm_eps=1e-5, sliding_window=None, tie_word_embeddings=True, rope_parameters=dict(beta_fast=32.0,
        beta_slow=1.0, factor=16.0, llama_4_scaling_beta=0.1, mscale=1.0, mscale_all_dim=1.0, original_max_position_embeddings=32,
        rope_theta=1000000.0, rope_type="yarn", type="yarn")),
    "qwen3moe": small | dict(model_type="qwen3_moe", architectures=["Qwen3MoeForCausalLM"], head_dim=16, num_hidden_layers=2,
        decoder_sparse_step=1, mlp_only_layers=[], moe_intermediate_size=24, norm_topk_prob=True, num_experts=8, num_experts_per_tok=3,
        rms_norm_eps=1e-6, rope_theta=1000000.0, rope_scaling=None, use_sliding_window=False, sliding_window=None, tie_word_embeddings=False),
    "qwen3moe-mixed": small | dict(model_type="qwen3_moe", architectures=["Qwen3MoeForCausalLM"], head_dim=16, num_hidden_layers=4,
        decoder_sparse_step=2, mlp_only_layers=[3], moe_intermediate_size=16, norm_topk_prob=False, num_experts=5, num_experts_per_tok=3,
        rms_norm_eps=1e-6, rope_theta=1000000.0, rope_scaling=None, use_sliding_window=False, sliding_window=None, tie_word_embeddings=True),
    "gptoss": small | dict(model_type="gpt_oss", architectures=["GptOssForCausalLM"], hidden_size=64, intermediate_size=32, head_dim=16,
        num_hidden_layers=2, num_local_experts=4, num_experts_per_tok=2, experts_per_token=2, sliding_window=24, attention_bias=True,
        layer_types=["sliding_attention", "full_attention"], initial_context_length=32, max_position_embeddings=1024, rms_norm_eps=1e-5,
        rope_theta=150000, rope_scaling=dict(beta_fast=32.0, beta_slow=1.0, factor=32.0, original_max_position_embeddings=32,
        rope_type="yarn", truncate=False), swiglu_limit=7.0, tie_word_embeddings=False),
    "mistral-window": small | dict(model_type="mistral", architectures=["MistralForCausalLM"], num_hidden_layers=2, sliding_window=24,
        max_position_embeddings=32768, rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=False, bos_token_id=1, eos_token_id=2),
    "ministral": small | dict(model_type="ministral", architectures=["MinistralForCausalLM"], head_dim=16, num_hidden_layers=3,
        sliding_window=40, layer_types=["full_attention", "sliding_attention", "sliding_attention"], max_position_embeddings=32768,
        rms_norm_eps=1e-5, rope_theta=1000000.0, tie_word_embeddings=False, bos_token_id=1, eos_token_id=2),
    "granite": small | dict(model_type="granite", architectures=["GraniteForCausalLM"], num_hidden_layers=2, embedding_multiplier=12.0,
        residual_multiplier=0.22, attention_multiplier=0.015625, logits_scaling=8.0, max_position_embeddings=131072, rms_norm_eps=1e-5,
        rope_scaling=None, rope_theta=10000000, attention_bias=False, mlp_bias=False, hidden_act="silu", tie_word_embeddings=False,
        bos_token_id=90, eos_token_id=90, pad_token_id=92),
    "gemma3-nested": small | dict(model_type="gemma3_text", head_dim=16, num_hidden_layers=3, num_key_value_heads=1, sliding_window=24,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"], query_pre_attn_scalar=20, rms_norm_eps=1e-6,
        max_position_embeddings=131072, rope_parameters=dict(sliding_attention=dict(rope_type="default", rope_theta=10000.0),
        full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1000000.0)), tie_word_embeddings=True, eos_token_id=1, bos_token_id=2),
}
FP4 = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])


def wide(name):
    """Vectors that the hub's files have in float32; here their values are no bf16 numbers."""
    return name.endswith(("A_log", "linear_attn.norm.weight"))


def randomise(model):
    for name, p in model.named_parameters():
        centred = model.config.model_type in ("qwen3_5_text", "gemma3_text") and not name.endswith("linear_attn.norm.weight")
        with torch.no_grad():
            x = torch.randn_like(p)
            if name.endswith("A_log"):
                x = torch.log(0.05 + 4 * torch.rand_like(p))
            elif name.endswith("dt_bias"):
                x = x - 1
            elif "norm" in name:
                x = (0 if centred else 1) + 0.2 * x
            elif "conv" in name and p.ndim == 3:
                x = 0.4 * x
            elif "embed" in name:
                x = 0.5 * x
            elif "sinks" in name or "bias" in name:
                x = 0.5 * x
            else:
                x = 0.15 * x
            p.copy_(x if wide(name) else x.to(torch.bfloat16))


def mxfp4(shape):
    """Random blocks [E,out,in/32,16] and scales [E,out,in/32] of the hub's layout, and the weights [E,out,in]."""
    e, o, i = shape
    codes = torch.randint(0, 16, (e, o, i // 32, 32))
    scales = torch.randint(122, 126, (e, o, i // 32))
    blocks = (codes[..., 0::2] | codes[..., 1::2] << 4).to(torch.uint8)  # the even column is the low half of a byte
    weights = FP4[codes] * torch.exp2(scales.float() - 127)[..., None]
    return blocks, scales.to(torch.uint8), weights.reshape(shape)


def targets(model):
    """(name of the factors, parameter, function from the small product [out,in] to the parameter's shape)"""
    E = {n: p for n, p in model.named_parameters()}
    out = []
    for n, p in E.items():
        m = n.removesuffix(".weight")
        if p.ndim == 3 and "experts" in n:
            for e in range(p.shape[0]):
                swapped = "gpt_oss" in model.config.model_type
                def put(d, z, e=e, rows=slice(None), swapped=swapped):
                    w = z.transpose(1, 2) if swapped else z
                    w = w.index_put((torch.tensor(e), torch.arange(w.shape[1])[rows]), d)
                    return w.transpose(1, 2) if swapped else w
                o, i = (p.shape[2], p.shape[1]) if swapped else p.shape[1:]
                if n.endswith("gate_up_proj"):
                    half = dict(gate_proj=slice(0, None, 2), up_proj=slice(1, None, 2)) if swapped else dict(gate_proj=slice(0, o // 2), up_proj=slice(o // 2, o))
                    for name, rows in half.items():
                        out.append((n.replace("gate_up_proj", f"{e}.{name}"), n, (o // 2, i), lambda d, z, put=put, rows=rows: put(d, z, rows=rows)))
                else:
                    out.append((n.replace("down_proj", f"{e}.down_proj"), n, (o, i), put))
        if p.ndim == 2 and n.endswith(".weight") and "embed" not in n and not n.endswith(("router.weight", "mlp.gate.weight")):
            cut = None
            c = model.config
            if m.endswith("in_proj_qkv"):
                k, v = c.linear_key_head_dim * c.linear_num_key_heads, c.linear_value_head_dim * c.linear_num_value_heads
                cut = dict(in_proj_q=(0, k), in_proj_k=(k, 2 * k), in_proj_v=(2 * k, 2 * k + v))
            if cut:
                for name, (a, b) in cut.items():
                    out.append((m.removesuffix("in_proj_qkv") + name, n, (b - a, p.shape[1]), lambda d, z, a=a, b=b: z.index_add(0, torch.arange(a, b), d)))
            else:
                out.append((m, n, tuple(p.shape), lambda d, z: d))
    return out


def greedy(model, tokens):
    """Continuation with a cache, one token a call, and the margins."""
    out = model(input_ids=tokens[None, :PROMPT], use_cache=True)
    ids, margins = [], []
    for _ in range(MORE):
        top = out.logits[0, -1].topk(2)
        ids.append(int(top.indices[0])); margins.append(float(top.values[0] - top.values[1]))
        cache = getattr(out, "cache", None) or out.past_key_values
        key = "cache" if getattr(out, "cache", None) is not None else "past_key_values"
        out = model(input_ids=torch.tensor([[ids[-1]]]), use_cache=True, **{key: cache})
    return ids, margins


def split(model, tokens, logits):
    got, cache, key = [], None, None
    for part in (tokens[:PROMPT], tokens[PROMPT:70], *tokens[70:].split(1)):
        out = model(input_ids=part[None], use_cache=True, **({key: cache} if key else {}))
        got.append(out.logits[0])
        key = "cache" if getattr(out, "cache", None) is not None else "past_key_values"
        cache = getattr(out, key)
    return float((torch.cat(got) - logits).abs().max())


def save_hub(name, config, model, extra):
    state = {n: p.detach().to(torch.float32 if wide(n) else torch.bfloat16).contiguous() for n, p in model.state_dict().items()}
    if config.get("tie_word_embeddings", config.get("tie_embedding")):
        state.pop("lm_head.weight", None)
    if "qwen3_5" in config["model_type"]:  # the hub's files: a vision model around the text model, and a draft head
        state = {n.replace("model.", "model.language_model.", 1): p for n, p in state.items()}
        state |= {"model.visual.patch_embed.proj.bias": torch.zeros(4, dtype=torch.bfloat16), "mtp.fc.weight": torch.zeros(48, 96, dtype=torch.bfloat16)}
        config = dict(architectures=["Qwen3_5ForConditionalGeneration"], image_token_id=93, model_type="qwen3_5", text_config=config,
            tie_word_embeddings=config["tie_word_embeddings"], transformers_version="4.57.0.dev0", video_token_id=94, vision_end_token_id=95,
            vision_start_token_id=92, vision_config=dict(model_type="qwen3_5", depth=1, hidden_size=16, num_heads=2, intermediate_size=16,
            out_hidden_size=48))
    if config["model_type"] == "gemma3_text":  # as the first files of 4B: names of transformers 4.50, a vision model beside
        state = {"language_model." + n: p for n, p in state.items()} | {"vision_tower.vision_model.post_layernorm.bias": torch.zeros(4,
            dtype=torch.bfloat16), "multi_modal_projector.mm_input_projection_weight": torch.zeros(4, 48, dtype=torch.bfloat16)}
        text = {k: v for k, v in config.items() if k not in ("dtype", "eos_token_id", "bos_token_id", "tie_word_embeddings", "rope_parameters",
            "max_position_embeddings", "rms_norm_eps")} | dict(rope_scaling=dict(factor=8.0, rope_type="linear"))
        config = dict(architectures=["Gemma3ForConditionalGeneration"], boi_token_index=93, eos_token_id=[1, 106], image_token_index=94,
            mm_tokens_per_image=256, model_type="gemma3", text_config=text, torch_dtype="bfloat16", transformers_version="4.50.0.dev0",
            vision_config=dict(hidden_size=16, image_size=28, intermediate_size=16, model_type="siglip_vision_model", num_attention_heads=2,
            num_hidden_layers=1, patch_size=14, vision_use_head=False))
    if config["model_type"] == "qwen3_moe":  # one matrix for each expert
        for n in [n for n in state if "experts" in n]:
            p, at = state.pop(n), n.rsplit(".", 1)[0]
            for e in range(p.shape[0]):
                for part, w in (dict(down_proj=p[e]) if n.endswith("down_proj") else dict(zip(("gate_proj", "up_proj"), p[e].chunk(2)))).items():
                    state[f"{at}.{e}.{part}.weight"] = w.contiguous()
    if config["model_type"] == "gpt_oss":
        state = {n: p for n, p in state.items() if not n.endswith(("gate_up_proj", "down_proj"))} | extra
        config = config | dict(quantization_config=dict(modules_to_not_convert=["model.layers.*.self_attn", "model.layers.*.mlp.router",
            "model.embed_tokens", "lm_head"], quant_method="mxfp4"))
    json.dump(config, open(f"{name}/config.json", "w"), indent=1, sort_keys=True)
    save_file(state, f"{name}/model.safetensors", metadata=dict(format="pt"))


def make(name, config):
    torch.manual_seed(11)
    shutil.rmtree(name, ignore_errors=True)
    os.makedirs(name)
    keys = {k: (dict(v) if isinstance(v, dict) else v) for k, v in config.items() if k not in ("model_type", "architectures")}
    if config["model_type"] == "gemma3_text":
        del keys["dtype"]  # else the factor of embeddings is rounded
    cfg = CONFIG_MAPPING[config["model_type"]](**keys)
    cfg._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(cfg, attn_implementation="eager").float().eval()
    model.config._experts_implementation = "eager"
    randomise(model)
    extra = {}
    if config["model_type"] == "gpt_oss":
        for n, p in model.named_parameters():
            if n.endswith(("gate_up_proj", "down_proj")):
                extra[n + "_blocks"], extra[n + "_scales"], w = mxfp4((p.shape[0], p.shape[2], p.shape[1]))
                from transformers.integrations.mxfp4 import convert_moe_packed_tensors
                same = convert_moe_packed_tensors(extra[n + "_blocks"], extra[n + "_scales"], dtype=torch.float32)
                assert torch.equal(same, w.transpose(1, 2)), n
                with torch.no_grad():
                    p.copy_(w.transpose(1, 2))
    save_hub(name, config, model, extra)
    if config["model_type"] not in ("gemma3_text", "gpt_oss"):  # what transformers reads back from the folder is the same model
        cls = type(model)
        back, info = cls.from_pretrained(name, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
        for (n, p), (_, q) in zip(model.named_parameters(), back.named_parameters()):
            assert torch.equal(p, q), n
        print("  read back by", cls.__name__, {k: v for k, v in info.items() if v})
    tokens = torch.randint(0, V, (T,))
    weights = torch.cat([torch.where(torch.rand(T - 1) < .3, torch.zeros(T - 1), torch.randn(T - 1)), torch.zeros(1)])
    rows = torch.tensor(ROWS)
    with torch.no_grad():
        out = model(input_ids=tokens[None], output_hidden_states=True, use_cache=False)
        logits = out.logits[0]
        logprobs = logits.log_softmax(-1)[torch.arange(T - 1), tokens[1:]]
        ids, margins = greedy(model, tokens)
        gap = split(model, tokens, logits)
    e = dict(tokens=tokens.float(), rows=rows.float(), logits=logits[rows], weights=weights, logprobs=logprobs,
        loss=-(weights[:-1] * logprobs).sum()[None], greedy=torch.tensor(ids).float(), margin=torch.tensor(margins),
        prompt=torch.tensor([float(PROMPT)]), split=torch.tensor([gap]))
    for l, h in enumerate(out.hidden_states):
        e[f"hidden.{l}"] = h[0][rows]
    params = {n: p.detach() for n, p in model.named_parameters()}
    factors, deltas = {}, {}
    for m, n, (o, i), put in targets(model):
        rank = 3 * RANK if "num_experts" in config and ".experts." not in m else RANK
        scale = (6 if "num_experts" in config else 2) * RANK / rank
        A, B = (0.2 * torch.randn(rank, i)).requires_grad_(), (0.2 * torch.randn(o, rank)).requires_grad_()
        factors[m] = (A, B)
        deltas.setdefault(n, torch.zeros_like(params[n]))
        deltas[n] = deltas[n] + put(scale * B @ A, torch.zeros_like(params[n]))
    full = {n: p.clone().requires_grad_() for n, p in params.items() if p.ndim == 1 or p.ndim == 3 and "conv" in n or n.endswith(("router.weight", "mlp.gate.weight"))}
    with_lora = {n: (full.get(n, p) + deltas[n] if n in deltas else full.get(n, p)) for n, p in params.items()}
    out = functional_call(model, with_lora, (), dict(input_ids=tokens[None], use_cache=False))
    e["lora_logits"] = out.logits[0][rows].detach()
    loss = -(weights[:-1] * out.logits[0].log_softmax(-1)[torch.arange(T - 1), tokens[1:]]).sum()
    loss.backward()
    e["lora_loss"] = loss.detach()[None]
    for m, (A, B) in factors.items():
        e |= {f"lora.{m}.A": A, f"lora.{m}.B": B}
        e |= {f"grad.{m}.{f}": torch.zeros_like(x) if x.grad is None else x.grad for f, x in (("A", A), ("B", B))}
    e |= {f"full.{n}": torch.zeros_like(p) if p.grad is None else p.grad for n, p in full.items()}
    save_file({k: v.detach().clone().float().contiguous() for k, v in e.items()}, f"{name}/expected.safetensors")
    size = sum(os.path.getsize(f"{name}/{f}") for f in os.listdir(name))
    print(f"{name}: {len(factors)} pairs, logits' deviation {float(logits.std()):.3f}, split gap {gap:.2e}, least margin {min(margins):.4f}, loss {float(e['loss']):.4f} {float(loss):.4f}, {size} bytes")


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    transformers.logging.set_verbosity_error()
    print("torch", torch.__version__, "transformers", transformers.__version__)
    for name in sys.argv[1:] or FAMILIES:
        try:
            make(name, FAMILIES[name])
        except Exception:
            traceback.print_exc()
            shutil.rmtree(name, ignore_errors=True)
