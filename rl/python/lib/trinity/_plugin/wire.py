"""Experiences on their way between Go and Python. Numbers travel as base64, so that float32 stay the same bits."""

import hashlib
import math

from trinity import _array
from trinity.common.experience import Experience

_INFO = "info/"  # begins the names of the numbers of info, which Go keeps beside the metrics and does not report


def sampled(a):
    """An experience that Go sampled or made of a conversation. It remembers what it came as."""
    mask = _array.from_bytes(a["mask"], "bool") if a.get("mask") else None
    e = Experience(tokens=_array.from_bytes(a["tokens"], "int32"), prompt_length=a["prompt_length"],
                   logprobs=_array.from_bytes(a["logprobs"], "float32"), action_mask=mask,
                   prompt_text=a.get("prompt_text"), response_text=a.get("response_text"),
                   truncate_status=a.get("truncate_status"), messages=a.get("messages"))
    e._sampled = (a["ref"], a["tokens"], a["logprobs"], a["prompt_length"])
    return e


def known(a):
    """An experience that an operator gets, as stored: with its id, reward and metrics."""
    e = sampled(a)
    for name in ("batch", "task", "run", "step", "suffix"):
        setattr(e.eid, name, a["eid"][name])
    e.reward = a.get("reward")
    numbers = a.get("metrics") or {}
    e.metrics = {k: v for k, v in numbers.items() if not k.startswith(_INFO)}
    e._given = {**e.metrics, **(a.get("info") or {})}
    e.info = {**e._given, **{k[len(_INFO):]: v for k, v in numbers.items() if k.startswith(_INFO)}}
    return e


def outgoing(list_of, what):
    """What a workflow or an operator returned, as Go reads it."""
    if list_of is None:
        raise TypeError(f"{what} returned nothing; it must return a list of experiences")
    if isinstance(list_of, Experience):
        list_of = [list_of]
    if not isinstance(list_of, (list, tuple)):
        raise TypeError(f"{what} returned {type(list_of).__name__}; it must return a list of experiences")
    for i, e in enumerate(list_of):
        if not isinstance(e, Experience):
            raise TypeError(f"{what} returned {type(e).__name__} as element {i} of its list; each must be an Experience")
    return [_out(e, i, what) for i, e in enumerate(list_of)]


def _out(e, i, what):
    if e.chosen is not None or e.rejected is not None:
        raise NotImplementedError(f"{what}: experience {i} is a pair of answers; pairs are read from a data set here "
                                  "(algorithm dpo), not returned by workflows")
    out = {"run": int(e.eid.run), "step": int(e.eid.step), "task": str(e.eid.task),
           "prompt_length": int(e.prompt_length), "reward": number(e.reward), "metrics": {**_info(e), **metrics(e.metrics)},
           "prompt_text": e.prompt_text, "response_text": e.response_text, "truncate_status": e.truncate_status}
    tokens = _array.to_bytes(e.tokens, "int32")
    logprobs = None if e.logprobs is None else _array.to_bytes(e.logprobs, "float32")
    same = e._sampled is not None and e._sampled[1:] == (tokens, logprobs, e.prompt_length)
    if e._sampled is not None:
        out["ref"] = e._sampled[0]
    if not same:
        out["tokens"], out["logprobs"] = tokens, logprobs
    if e.action_mask is not None:
        out["mask"] = _array.to_bytes(e.action_mask, "bool")
    if e.token_level_reward is not None:
        out["token_rewards"] = _array.to_bytes(e.token_level_reward, "float32")
    if e.messages is not None:
        out["messages"] = e.messages
    return out


def _info(e):
    """The finite numbers that were put into info, and texts that name a state as numbers that are equal for equal texts."""
    given, out = getattr(e, "_given", {}), {}
    for k, v in e.info.items() if isinstance(e.info, dict) else ():
        if k in given and v is given[k]:
            continue
        if isinstance(v, str) and ("state" in str(k) or "hash" in str(k)):
            v = int.from_bytes(hashlib.sha256(v.encode(errors="replace")).digest()[:8], "big") >> 12
        try:
            n = metrics({k: v}).get(str(k))
        except (TypeError, ValueError, OverflowError):  # an array, or a number beyond floats
            continue
        if isinstance(n, float):
            out[_INFO + str(k)] = n
    return out


def number(v):
    """A number as JSON can say it, None for none. Tensors of one number are numbers."""
    if v is None:
        return None
    if hasattr(v, "item"):
        v = v.item()
    v = float(v)
    if math.isnan(v):
        return "NaN"
    if math.isinf(v):
        return "Infinity" if v > 0 else "-Infinity"
    return v


def metrics(values):
    """The numbers among the metrics of an experience."""
    out = {}
    for k, v in (values or {}).items():
        if hasattr(v, "item") and getattr(v, "numel", lambda: 1)() == 1:
            v = v.item()
        if isinstance(v, (int, float)):
            out[str(k)] = number(v)
    return out
