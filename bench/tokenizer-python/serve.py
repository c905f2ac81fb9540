"""Encodes texts for main.go: each line of input is ["NAME", "text"], its answer the line of ids
that Hugging Face tokenizers gives with NAME.json of hf/tokenizer/testdata."""
import json, os, sys
from tokenizers import Tokenizer

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../hf/tokenizer/testdata")
loaded = {}
for line in sys.stdin:
    name, text = json.loads(line)
    if name not in loaded:
        loaded[name] = Tokenizer.from_file(os.path.join(here, name + ".json"))
    print(json.dumps(loaded[name].encode(text, add_special_tokens=True).ids), flush=True)
