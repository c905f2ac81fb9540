"""Makes golden.json with transformers 5.23: conversations rendered, encoded and masked.

    python make.py

The templates are those of ../../jinja/testdata, the tokenizers those of ../../tokenizer/testdata.
Masks of templates without a generation block are made by the prefix method: the tokens between the
messages before an assistant message, with generation prompt, and the messages up to it, up to the
token that ends a turn, or the first difference, where the whole conversation shows them otherwise.
"""
import datetime as real
import json
import os
import transformers.utils.chat_template_utils as hf
from transformers import PreTrainedTokenizerFast


class Fixed(real.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2026, 1, 2, 3, 4, 5)


hf.datetime = Fixed

TOOLS = [{"type": "function", "function": {"name": "get_w", "description": "<weather> & 'x'", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]
CHATS = {
    "user": [{"role": "user", "content": "What is 12 * 12?\n"}],
    "system": [{"role": "system", "content": " Be brief. "}, {"role": "user", "content": "Hi <|im_end|>"}],
    "turns": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo é 🙂"}, {"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "It is 4.  "}],
    "think": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYo"}, {"role": "user", "content": "b"}, {"role": "assistant", "content": "<think>\nso\n</think>\n\nfour"}],
    "reason": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "Yo", "reasoning_content": "long thought", "thinking": "long thought"}],
    "tool": [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "get_w", "arguments": {"city": "Zürich"}}}]}, {"role": "tool", "name": "get_w", "content": "sunny"}, {"role": "assistant", "content": "Sun."}],
    "tools": [
        {"role": "system", "content": "S"}, {"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "get_w", "arguments": {"city": "A"}}}]}, {"role": "tool", "name": "get_w", "content": "sunny"}, {"role": "assistant", "content": "Sun."},
        {"role": "user", "content": "And B?"}, {"role": "assistant", "content": "", "reasoning_content": "B, too.", "thinking": "B, too.", "tool_calls": [{"type": "function", "function": {"name": "get_w", "arguments": {"city": "B", "n": [1, {"z": 1, "a": None}]}}}]}, {"role": "tool", "name": "get_w", "content": "rainy 🙂"}, {"role": "assistant", "content": "Rain 🙂é.", "reasoning_content": "Yes.", "thinking": "Yes."},
    ],
    "two calls": [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "Let me see.", "tool_calls": [{"type": "function", "function": {"name": "get_w", "arguments": {"city": "A"}}}, {"type": "function", "function": {"name": "get_w", "arguments": {"city": "B"}}}]}, {"role": "tool", "content": "sunny"}, {"role": "tool", "content": "rainy"}, {"role": "assistant", "content": "Both."}],
    "open": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "So the answer \n"}],
}
MODELS = {
    "llama32": ("llama3", {"bos_token": "<|begin|>", "eos_token": "<|im_end|>"}),
    "qwen25": ("qwen2", {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}),
    "qwen3": ("qwen2", {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}),
    "generation": ("llama3", {"bos_token": "<|begin|>", "eos_token": "<|im_end|>"}),
    "llama31": ("llama3", {"bos_token": "<|begin|>", "eos_token": "<|im_end|>"}),
    "gemma3": ("llama3", {"bos_token": "<|begin|>", "eos_token": "<|im_end|>"}),
    "gptoss": ("gpt2", {"eos_token": "<|im_end|>"}),
    "coder": ("qwen2", {"eos_token": "<|im_end|>"}),
}


def mask(tok, text, chat, kw):
    if "{%- generation %}" in text:
        out = tok.apply_chat_template(chat, return_assistant_tokens_mask=True, return_dict=True, **kw)
        return out["assistant_masks"]
    render = lambda messages, **more: tok.apply_chat_template(messages, tokenize=False, **kw, **more)
    whole = render(chat)
    encoded = tok(whole, add_special_tokens=False, return_offsets_mapping=True)
    m = [0] * len(encoded["input_ids"])
    start = max([i for i, x in enumerate(chat) if x["role"] == "user"], default=0) if "<think>" in text else 0
    for i in range(start, len(chat)):
        if chat[i]["role"] == "assistant":
            before, through = render(chat[:i], add_generation_prompt=True), render(chat[: i + 1])
            end = len(os.path.commonprefix([whole, through]))
            if not whole.startswith(through) and "<|im_end|>" in text:
                end = whole.index("<|im_end|>", len(before)) + len("<|im_end|>")
            if whole.startswith(before):
                m = [int(x or (a < end and b > len(before))) for x, (a, b) in zip(m, encoded["offset_mapping"])]
    return m


cases = []
for model, (file, special) in MODELS.items():
    text = open(f"../../jinja/testdata/{model}.jinja").read()
    tok = PreTrainedTokenizerFast(tokenizer_file=f"../../tokenizer/testdata/{file}.json", **special)
    tok.chat_template = text
    for name, chat in CHATS.items():
        if name == "tool" and model == "generation":
            continue
        for kw in [{}, {"add_generation_prompt": True}, {"add_generation_prompt": True, "enable_thinking": False}, {"continue_final_message": True}, {"tools": TOOLS}]:
            c = {"name": f"{model} {name} {' '.join(kw)}", "model": model, "tokenizer": file, "special": special, "chat": chat, "kw": kw}
            try:
                c["text"] = tok.apply_chat_template(chat, tokenize=False, **kw)
                c["ids"] = tok.apply_chat_template(chat, return_dict=False, **kw)
                if not ("add_generation_prompt" in kw or "continue_final_message" in kw):
                    c["mask"] = mask(tok, text, chat, kw)
            except Exception as e:
                c["error"] = str(e)[:100]
            cases.append(c)
with open("golden.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n")
print(len(cases), [c["name"] + c["error"] for c in cases if "error" in c])
