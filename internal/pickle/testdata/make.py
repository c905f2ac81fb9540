"""Writes values.pickle<protocol> with Python and NumPy, and what they hold as values.json: python make.py."""
import collections, datetime, json, pathlib, pickle

import numpy as np

HERE = pathlib.Path(__file__).parent


class Thing:
    def __init__(self):
        self.a = 1


shared = ["again", "again"]
values = {
    "none": None, "yes": True, "no": False, "small": 7, "two": 40000, "int": -70000, "long": -(2**40), "huge": 2**80, "float": -0.125,
    "text": "sév\U0001f600en \ud800", "long text": "x" * 300, "bytes": b"\x00\xff", "array": bytearray(b"ab"), "list": [1, [2, []], shared],
    "shared": shared, "tuple": (1, 2, 3, 4), "empty": (), "set": {1}, "frozen": frozenset([2]), "dict": {"a": {"b": {}}, 3: "three", (1, 2): "left out"},
    "ordered": collections.OrderedDict(x=1), "default": collections.defaultdict(list, y=[2]),
    "np": [np.float64(0.5), np.float32(0.25), np.int64(-3), np.bool_(True)], "object": Thing(), "date": datetime.date(2026, 1, 2), "class": Thing,
}
for protocol in (2, 3, 4, 5):
    (HERE / f"values.pickle{protocol}").write_bytes(pickle.dumps(values, protocol=protocol))
plain = {**values, "huge": None, "text": "sév\U0001f600en \ufffd", "bytes": "AP8=", "array": "YWI=", "set": [1], "frozen": [2],
         "dict": {"a": {"b": {}}, "3": "three"}, "np": [0.5, 0.25, -3, True], "object": None, "date": None, "class": None}
(HERE / "values.json").write_text(json.dumps(plain) + "\n")
