"""operator.run: what an operator makes of the experiences of an explore step."""

import json

from trinity import _seam
from trinity._plugin import wire
from trinity.buffer.operators.experience_operator import EXPERIENCE_OPERATORS, ensure_v1_operator
from trinity.common.config import asked
from trinity.common.models.model import ModelWrapper

_made = {}


async def run(args, call):
    """args: name, args, place (the operator's number), experiences, auxiliary."""
    with _seam.within(call):
        operator = await _operator(args)
        operator.set_auxiliary_model(_auxiliary(args, call))
        exps = [wire.known(a) for a in args["experiences"]]
        answer = await operator.process(exps)
        name = args["name"]
        if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], (dict, type(None)))):
            raise TypeError(f"operator {name} returned {type(answer).__name__}; process() must return a list of "
                            "experiences and a dict of metrics")
        return {"experiences": wire.outgoing(answer[0], f"operator {name}"), "metrics": wire.metrics(answer[1])}


async def _operator(args):
    key = (args["place"], args["name"], json.dumps(args["args"] or {}, sort_keys=True))
    if key not in _made:
        operator = ensure_v1_operator(EXPERIENCE_OPERATORS.get(args["name"])(**(args["args"] or {})))
        await operator.prepare()
        _made[key] = operator
    return _made[key]


def _auxiliary(args, call):
    out = {}
    for i, m in enumerate(args.get("auxiliary") or []):
        client = ModelWrapper(config=asked(m), call=call, auxiliary=i).get_openai_async_client()
        out[i] = [client]
        out[m.get("name") or m.get("model_path")] = [client]
    return out
