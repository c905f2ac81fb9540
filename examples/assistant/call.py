"""The checker: is the answer the function call that the sentence means?

    python3 examples/assistant/call.py data FOLDER/2017-06-custom-intent-engines assistant-data

makes the whole data set of a clone of github.com/sonos/nlu-benchmark: 13,784 sentences for training, 700 for tests.
"""

import json
import pathlib
import random
import sys

NAMES = ["AddToPlaylist", "BookRestaurant", "GetWeather", "PlayMusic", "RateBook", "SearchCreativeWork",
         "SearchScreeningEvent"]


def read(text):
    """The call in a text, or None: an object with a name and an object of arguments, and nothing else."""
    try:
        call = json.loads(text)
    except ValueError:
        return None
    if not isinstance(call, dict) or set(call) != {"name", "arguments"} or not isinstance(call["arguments"], dict):
        return None
    return call


def overlap(got, want):
    """The F1 of the arguments, by name and value."""
    right = sum(name in want and want[name] == value for name, value in got.items())
    return 2 * right / (len(got) + len(want)) if got or want else 1.0


def reward(completion, answer):
    """1 for the call itself, and parts of it for its form, its name and its arguments."""
    got, want = read(completion.strip()), read(answer)
    named = got is not None and got["name"] == want["name"]
    return {
        "valid": 0.125 * (got is not None),
        "name": 0.125 * named,
        "arguments": 0.25 * overlap(got["arguments"], want["arguments"]) if named else 0.0,
        "exact": 0.5 * (got == want),
    }


def row(name, pieces):
    """A sentence of the benchmark, in pieces, as a row: its text and its call."""
    arguments = {}
    for piece in pieces:
        if "entity" in piece:
            value = piece["text"].strip()
            before = arguments.get(piece["entity"])
            arguments[piece["entity"]] = value if before is None else (
                before + [value] if isinstance(before, list) else [before, value])
    call = {"name": name, "arguments": arguments}
    text = "".join(piece["text"] for piece in pieces).strip()
    return {"text": text, "call": json.dumps(call, ensure_ascii=False, separators=(",", ":"))}


def load(path, name):
    """The rows of a file; some files are in Latin-1."""
    raw = path.read_bytes()
    try:
        content = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError:
        content = json.loads(raw.decode("latin-1"))
    return [row(name, sentence["data"]) for sentence in content[name]]


def write(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)


def data(source, target):
    """Makes the folder target of the benchmark's files in the folder source; the order of training is seed 1's."""
    source, target = pathlib.Path(source), pathlib.Path(target)
    target.mkdir(parents=True, exist_ok=True)
    train, test = [], []
    for name in NAMES:
        train += load(source / name / f"train_{name}_full.json", name)
        test += load(source / name / f"validate_{name}.json", name)
    random.Random(1).shuffle(train)
    write(target / "train.jsonl", train)
    write(target / "test.jsonl", test)
    print(f"{len(train)} sentences for training and {len(test)} for tests in {target}")


if __name__ == "__main__" and sys.argv[1:2] == ["data"] and len(sys.argv) == 4:
    data(sys.argv[2], sys.argv[3])
elif __name__ == "__main__":
    sys.exit(__doc__)
