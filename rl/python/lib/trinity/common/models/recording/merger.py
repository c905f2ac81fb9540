"""Joins the calls of one conversation: a call whose prompt begins with all tokens of an earlier one continues it."""

from trinity import _array, _missing
from trinity.buffer.store.memory_store import get_sample_id
from trinity.common.experience import Experience

__getattr__ = _missing.attribute(__name__)

MAX_HEADS_PER_STREAM = 128


class PrefixExperienceMerger:
    """Merges experiences of a store as they come. Answers to one request (info["sample_index"]) are streams of their own, and
    a stream remembers its last conversations: of those that a call continues, the longest, and the first of several."""

    def __init__(self, store):
        self.store = store
        self._heads = {}  # record key → stream → heads, oldest first

    def try_merge(self, record_key, exp):
        """Whether an experience continued one of the store, whose place the merged one then has."""
        heads = self._stream(record_key, exp)
        if not heads:
            heads.extend(e for e in self.store.get(record_key) if _stream_of(e) == _stream_of(exp))
        tokens = _list(exp.tokens)
        fitting = [h for h in heads if _continues(_list(h.tokens), tokens, exp.prompt_length)]
        if not fitting:
            return False
        head = max(fitting, key=lambda h: len(h.tokens))  # the first of the longest
        merged = merge(head, exp)
        heads.remove(head)
        try:
            self.store.replace(record_key, get_sample_id(head), merged)
        except KeyError:  # the store has forgotten it
            return False
        self.remember(record_key, merged)
        return True

    def remember(self, record_key, exp):
        """A conversation that may be continued."""
        heads = self._stream(record_key, exp)
        heads.append(exp)
        if len(heads) > MAX_HEADS_PER_STREAM:
            heads.remove(min(heads, key=lambda h: len(h.tokens)))

    def forget_record(self, record_key):
        self._heads.pop(record_key, None)

    def _stream(self, record_key, exp):
        return self._heads.setdefault(record_key, {}).setdefault(_stream_of(exp), [])


def _stream_of(exp):
    return (exp.info or {}).get("sample_index")


def _list(values):
    return values.tolist()


def _continues(head, tokens, prompt_length):
    return 0 < len(head) <= prompt_length and len(head) < len(tokens) and tokens[: len(head)] == head


def merge(head, exp):
    """One experience of both: what stands between them is masked, with logprob 0."""
    gap, info = exp.prompt_length - len(head.tokens), head.info or {}
    answer = len(exp.tokens) - exp.prompt_length
    parts = {name: _joined(getattr(head, name), gap, getattr(exp, name), answer, dtype)
             for name, dtype in (("action_mask", "bool"), ("logprobs", "float32"))}
    both = {"merged_eid_suffixes": info.get("merged_eid_suffixes", [head.eid.suffix]) + [exp.eid.suffix],
            "merged_sample_ids": info.get("merged_sample_ids", [get_sample_id(head)]) + [get_sample_id(exp)],
            "merged_turn_count": info.get("merged_turn_count", 1) + 1}
    same = ("tokens", "eid", "reward", "token_level_reward", "advantages", "returns", "metrics", "response_text",
            "multi_modal_inputs", "teacher_logprobs", "custom_fields")
    return Experience(**{name: getattr(exp, name) for name in same}, **parts, info={**(exp.info or {}), **both},
                      prompt_length=head.prompt_length, prompt_text=head.prompt_text, messages=exp.messages or head.messages,
                      tools=exp.tools or head.tools, truncate_status=exp.truncate_status or head.truncate_status)


def _joined(first, gap, second, answer, dtype):
    if first is None or second is None:
        return None
    return _array.tensor(_list(first) + [0] * gap + (_list(second)[-answer:] if answer else []), dtype)
