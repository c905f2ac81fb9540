"""The protocol of bench/peers: a request is a JSON line on standard input, the answer a JSON line on standard output."""

import json
import math
import os
import sys


def serve(program):
    """Answers requests until the input ends. program has versions, load(request) and a method for each kind of work, which returns
    its seconds and a number that says what it computed."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print goes to standard error
    print(json.dumps({"versions": program.versions}), file=out)
    for line in sys.stdin:
        r = json.loads(line)
        try:
            program.load(r)
            seconds, check = getattr(program, r["work"])(r)
            answer = {"seconds": seconds, "check": check}
        except Exception as e:  # the peer's failure is a result, not the comparison's end
            answer = {"error": f"{type(e).__name__}: {e}"[:500]}
        print(json.dumps(answer), file=out)


def logprob(row, token):
    """The log-probability of a token in a row of logits."""
    top = max(row)
    return row[token] - top - math.log(sum(math.exp(x - top) for x in row))
