"""What environments return, as the Go side reads it."""

import math
import numbers

_not_metrics = {"suffix", "prefix", "parsed_action", "use_tool"}


def first(returned):
    """What reset returned: (observation, info)."""
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise TypeError(f"reset returned {_short(returned)}, want a tuple (observation, info)")
    return _observation(*returned)


def after(returned):
    """What step returned: (observation, reward, terminated, truncated, info)."""
    if not isinstance(returned, tuple) or len(returned) != 5:
        raise TypeError(f"step returned {_short(returned)}, want a tuple "
                        "(observation, reward, terminated, truncated, info)")
    observation, reward, terminated, truncated, info = returned
    out = _observation(observation, info)
    try:
        out["reward"] = float(reward)
    except (TypeError, ValueError):
        raise TypeError(f"step returned the reward {_short(reward)}, want a number") from None
    if not math.isfinite(out["reward"]):
        raise ValueError(f"step returned the reward {out['reward']}, want a finite number")
    out["terminated"], out["truncated"] = bool(terminated), bool(truncated)
    return out


def _observation(text, info):
    if not isinstance(text, str):
        raise TypeError(f"the observation is {_short(text)}, want text: models here read text alone")
    if info is None:
        info = {}
    if not isinstance(info, dict):
        raise TypeError(f"the info is {_short(info)}, want a dict")
    out = {"text": text}
    for key in ("prefix", "suffix"):
        if isinstance(info.get(key), str):
            out[key] = info[key]
    if isinstance(info.get("parsed_action"), str):
        out["action"] = info["parsed_action"]
    if info.get("use_tool"):
        out["tool"] = True
    metrics = {str(k): float(v) for k, v in info.items() if k not in _not_metrics and _is_number(v)}
    if metrics:
        out["metrics"] = metrics
    return out


def _is_number(v):
    return isinstance(v, (bool, numbers.Real)) and math.isfinite(float(v)) or type(v).__name__ == "bool_"


def _short(value):
    shown = repr(value)
    return f"{type(value).__name__} {shown[:200]}{'…' if len(shown) > 200 else ''}"
