"""Conversations as tokens, with the mask of what the assistant wrote; a workflow has convert_messages_to_experience of
self.model, which keeps what was sampled."""

import re

from trinity import _missing

__getattr__ = _missing.attribute(__name__)


def _tokens(tokenizer, messages, tools, chat_template, enable_thinking, **more):
    """tokenizer.apply_chat_template, without special tokens that the template does not write."""
    import transformers

    how = {"padding": False, "truncation": True, "add_special_tokens": False}
    if isinstance(tokenizer, transformers.ProcessorMixin):
        how = {"processor_kwargs": how}
    return tokenizer.apply_chat_template(messages, tools=tools, chat_template=chat_template, tokenize=True, return_dict=True,
                                         enable_thinking=enable_thinking, **how, **more)


def tokenize_and_mask_messages_hf(tokenizer, messages, tools=None, chat_template=None, enable_thinking=None):
    """input_ids and assistant_masks [1, N] by a template that marks the assistant's words with {% generation %}."""
    made = _tokens(tokenizer, messages, tools, chat_template, enable_thinking, add_generation_prompt=False,
                   return_assistant_tokens_mask=True, return_tensors="pt")
    made.pop("attention_mask", None)
    return made


def tokenize_and_mask_messages_default(tokenizer, messages, tools=None, chat_template=None, enable_thinking=None):
    """The same by any template: an answer is what a conversation up to it has more than one that asks for it. A template
    with <think> drops earlier thoughts, so that only answers after the last user's message are marked."""
    if not messages:
        raise ValueError("there are no messages")
    given = (tools, chat_template, enable_thinking)
    made = _tokens(tokenizer, messages, *given, add_generation_prompt=False, return_tensors="pt")
    users = [i for i, m in enumerate(messages) if m["role"] == "user"]
    first = users[-1] if users and "<think>" in (chat_template or tokenizer.chat_template) else 0
    mask = made["input_ids"].new_zeros(made["input_ids"].shape)
    for i in range(first, len(messages)):
        if messages[i]["role"] != "assistant":
            continue
        before = 0
        if i > 0:
            before = len(_tokens(tokenizer, messages[:i], *given, add_generation_prompt=True)["input_ids"])
        mask[0, before : len(_tokens(tokenizer, messages[: i + 1], *given, add_generation_prompt=False)["input_ids"])] = 1
    made.pop("attention_mask", None)
    made["assistant_masks"] = mask
    return made


def get_action_mask_method(chat_template=None):
    """Which of the two a template needs."""
    marked = chat_template is not None and re.search(r"\{%-?\s*generation\s*-?%\}", chat_template)
    return tokenize_and_mask_messages_hf if marked else tokenize_and_mask_messages_default
