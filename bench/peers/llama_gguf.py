"""Writes the weights of a Hugging Face folder of bench/peers as a GGUF file, which is llama.cpp's, in bf16 or float32 and without a vocabulary."""

import json
import os

import gguf
import numpy as np

BF16 = gguf.GGMLQuantizationType.BF16


def tensors(path):
    """Yields name, shape and bf16 bits of the tensors of a safetensors file."""
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        header = json.loads(f.read(size))
    data = np.memmap(path, np.uint8, "r", offset=8 + size)
    for name, t in header.items():
        if name != "__metadata__":
            yield name, t["shape"], data[t["data_offsets"][0]:t["data_offsets"][1]].view(np.uint16).reshape(t["shape"])


def convert(folder, dtype):
    with open(os.path.join(folder, "config.json")) as f:
        c = json.load(f)
    kind = c["model_type"]
    path = os.path.join(folder, "model.gguf")
    out = gguf.GGUFWriter(path, kind)
    out.add_vocab_size(c["vocab_size"])
    out.add_context_length(c["max_position_embeddings"])
    out.add_embedding_length(c["hidden_size"])
    out.add_block_count(c["num_hidden_layers"])
    out.add_feed_forward_length(c["intermediate_size"])
    out.add_head_count(c["num_attention_heads"])
    out.add_head_count_kv(c["num_key_value_heads"])
    dim = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    out.add_key_length(dim)
    out.add_value_length(dim)
    out.add_rope_dimension_count(dim)
    out.add_rope_freq_base(c.get("rope_theta") or c["rope_parameters"]["rope_theta"])
    out.add_layer_norm_rms_eps(c["rms_norm_eps"])
    out.add_tokenizer_model("no_vocab")
    names = gguf.get_tensor_name_map({"llama": gguf.MODEL_ARCH.LLAMA, "qwen3": gguf.MODEL_ARCH.QWEN3}[kind], c["num_hidden_layers"])
    heads = {"q_proj": c["num_attention_heads"], "k_proj": c["num_key_value_heads"]}
    for name, shape, bits in tensors(os.path.join(folder, "model.safetensors")):
        to = names.get_name(name, try_suffixes=(".weight",))
        if len(shape) == 1:  # norms are float32 there
            out.add_tensor(to, (bits.astype(np.uint32) << 16).view(np.float32))
            continue
        n = heads.get(name.split(".")[-2])
        if kind == "llama" and n:  # llama.cpp rotates neighbours, Hugging Face halves
            bits = bits.reshape(n, 2, shape[0] // n // 2, shape[1]).swapaxes(1, 2).reshape(shape)
        bits = np.ascontiguousarray(bits)
        if dtype == "f32":
            out.add_tensor(to, (bits.astype(np.uint32) << 16).view(np.float32))
        else:
            out.add_tensor(to, bits.view(np.uint8), raw_shape=(shape[0], 2 * shape[1]), raw_dtype=BF16)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return path
