"""Rewards that are bare functions in files, as right.py, style.py:brief or right.py + 0.1*style.py:brief name them."""

import inspect

from trinity.utils.plugin_loader import load_from_file


class Sum:
    """The weighted sum of functions. Each is a part of the reward, by its name."""

    def __init__(self, terms):
        """terms: weight, path, file and name of each, as the Go side has read them."""
        self._terms = []
        for term in terms:
            called, fn = _function(term["file"], term["path"], term["name"])
            self._terms.append((term["weight"], called, fn, _arguments(fn, f"{term['path']}:{called}")))

    def __call__(self, response, truth=None, prompt=None, response_token=None, columns=None, **args):
        row = {"response": response, "truth": truth, "prompt": prompt, "tokens": response_token, "args": args,
               "columns": dict(columns or {})}
        made = [fn(**take(row)) for _, _, fn, take in self._terms]
        if any(inspect.isawaitable(x) for x in made):
            return self._later(made)
        return self._parts(made)

    async def _later(self, made):
        return self._parts([await x if inspect.isawaitable(x) else x for x in made])

    def _parts(self, made):
        out = {}
        for (weight, called, _, _), value in zip(self._terms, made):
            if isinstance(value, (list, tuple)):  # TRL's, of one completion; None is no opinion
                if len(value) != 1:
                    raise ValueError(f"{called} returned {len(value)} rewards for 1 completion")
                value = 0.0 if value[0] is None else value[0]
            for part, v in value.items() if isinstance(value, dict) else [(called, value)]:
                if not isinstance(v, (int, float)) and not hasattr(v, "item"):
                    raise TypeError(f"{called} returned {v!r}; a reward is a number, a list of one, or a dict of numbers")
                out[part] = out.get(part, 0.0) + weight * float(v)
        return out


def _function(file, path, name):
    """The function of a file: the named one, the one called reward, or the only one."""
    module = load_from_file(file)
    own = {k: v for k, v in vars(module).items() if inspect.isfunction(v) and v.__module__ == module.__name__
           and not k.startswith("_")}
    if not name:
        name = "reward" if "reward" in own else next(iter(own), None) if len(own) == 1 else None
    if name is None:
        raise ValueError(f"{path} has {len(own)} functions ({', '.join(own)}): name one, as {path}:NAME, or call it reward")
    if not callable(getattr(module, name, None)):
        raise ValueError(f"{path} has no function {name}; it has {', '.join(own) or 'none'}")
    return name, getattr(module, name)


def _arguments(fn, what):
    """How a row becomes the arguments of a function: TRL's, of lists, if it takes completions, or those of one answer."""
    known = inspect.signature(fn).parameters
    every = any(p.kind is p.VAR_KEYWORD for p in known.values())
    if "completions" in known:
        return lambda row: _batch(row, known, every)
    return lambda row: _single(row, known, every, what)


def _batch(row, known, every):
    """TRL's arguments: https://huggingface.co/docs/trl/main/en/grpo_trainer#using-a-custom-reward-function."""
    columns = row["columns"]
    talk = next((v for v in (columns.get("prompt"), columns.get("messages")) if isinstance(v, list)), None)
    said = [{"role": "assistant", "content": row["response"]}] if talk else row["response"]
    given = {k: [v] for k, v in columns.items()}
    given.update(prompts=[talk or row["prompt"]], completions=[said], completion_ids=[row["tokens"]], **row["args"])
    given.pop("prompt", None)
    return given if every else {k: v for k, v in given.items() if k in known}


def _single(row, known, every, what):
    """The arguments for one answer: by their names, and what has no such name is first the completion, then the answer."""
    texts = {"completion": row["response"], "response": row["response"], "answer": row["truth"], "truth": row["truth"],
             "ground_truth": row["truth"], "prompt": row["prompt"], "question": row["prompt"]}
    given = {**texts, **row["columns"], **row["args"], "completion": row["response"], "response": row["response"]}
    in_order, left, out = [row["response"], row["truth"]], [], {}
    for name, p in known.items():
        if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            continue
        if name in given:
            out[name] = given[name]
        elif p.default is p.empty:
            left.append(name)
    if "completion" in out or "response" in out:
        in_order = in_order[1:]
    if any(name in out for name in ("answer", "truth", "ground_truth")):
        in_order = in_order[:-1]
    if len(left) > len(in_order):
        raise TypeError(f"{what} asks for {left[len(in_order)]}, which is no column of the row; there are "
                        f"{', '.join(row['columns']) or 'none'}, completion, answer and prompt")
    out.update(zip(left, in_order))
    return {**given, **out} if every else out
