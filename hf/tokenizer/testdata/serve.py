"""Encodes texts for FuzzPython: each line of input is ["NAME", "text"], its answer the line of ids
that Hugging Face tokenizers gives with NAME.json of this folder."""
import json, os, sys
from tokenizers import Tokenizer

here = os.path.dirname(os.path.abspath(__file__))
loaded = {}
for line in sys.stdin:
    name, text = json.loads(line)
    if name not in loaded:
        loaded[name] = Tokenizer.from_file(os.path.join(here, name + ".json"))
    print(json.dumps(loaded[name].encode(text, add_special_tokens=True).ids), flush=True)
