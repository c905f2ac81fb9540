"""Asks transformers for the log-probabilities of a text under a model's GGUF file.

    python logprobs.py FILE.gguf OUT      (made with torch 2.15.0, transformers 5.23.0, gguf 0.19.0)

OUT/folder is the model as transformers reads it, in bf16. OUT/logprobs.safetensors has tokens [n] and, of that model, float32 [n-1]
and bf16 [n-1]: the log-probability of each next token, computed in float32 and in bf16.
"""
import pathlib, sys
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

file, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
quantization = GgufConfig(gguf_file=file.name, dequantize=True)
model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, quantization_config=quantization, dtype=torch.bfloat16,
    attn_implementation="eager")
model.save_pretrained(out / "folder")
text = (pathlib.Path(__file__).parents[2] / "docs" / "algorithms.md").read_text(encoding="utf-8")[:6000]
ids = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)(text, return_tensors="pt").input_ids[:, :1200]


def logprobs(dtype):
    with torch.no_grad():
        logits = model.to(dtype)(input_ids=ids).logits[0, :-1].float()
    return torch.log_softmax(logits, -1).gather(1, ids[0, 1:, None])[:, 0]


half = logprobs(torch.bfloat16)
save_file(dict(tokens=ids[0].float(), float32=logprobs(torch.float32), bf16=half), out / "logprobs.safetensors")
print(ids.shape, "tokens")
