"""What the files of checks share: the server, the question, and how a check is run and reported."""

import json
import os
import traceback

URL, KEY, BASE = os.environ["TINKER_BASE_URL"], os.environ["TINKER_API_KEY"], "tools"
CALLS = os.environ.get("CLIENTS_CALLS", "")  # sampler weights that trained.py trains to take the turns below
TEXT = "What is 3 + 4?"
QUESTION = [{"role": "user", "content": TEXT}]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TOOLS = [{"type": "function", "function": {"name": name, "description": name, "parameters": SCHEMA}} for name in ("add", "sub")]
STEPS = [("add", 3, "7"), ("sub", 7, "4")]  # a call's name, its argument a, and the result it gets
FINAL = "It is 4."


def expect(got, want):
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


def result(name, a):
    """What the tool called name answers to a; any call but those of STEPS is an error of the model."""
    for step, arg, text in STEPS:
        if (step, arg) == (name, a):
            return text
    raise ValueError(f"no step calls {name} with {a!r}")


def report(client, checks):
    """Runs checks, each (route, what, function), and prints a line of JSON for each. A function may return text that goes into its row."""
    for route, what, check in checks:
        try:
            said = check()
            text = "works"
            what += f": {said}" if said else ""
        except Exception as e:  # noqa: BLE001
            traceback.print_exc()
            text = f"FAILED: {type(e).__name__}: {e}"[:300].replace("\n", " ")
        print(json.dumps({"route": route, "client": client, "what": what, "result": text}), flush=True)
