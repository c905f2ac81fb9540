"""What unmodified tinker-cookbook gets from `trinity serve` where it speaks OpenAI's interface: inference/modal/compare.py, which asks the same prompts of a
Tinker sampling client and of an OpenAI-compatible endpoint, and counts how often the greedy answers differ."""

import asyncio
import contextlib
import importlib.metadata
import io
import json
import os
import pathlib
import tempfile
import urllib.request

from checks import KEY, URL, report

# The name makes the cookbook choose its renderer; the server has this project's model under it.
os.environ["MODEL"] = MODEL = "Qwen/Qwen3-8B"
PROMPTS = ["What is 3 + 4?", "What is 17 times 24?", "Name the number after 9.", "What is 5 + 6?", "2 + 2"]

# The cookbook sends no key. An opener is urllib's own means to add one.
opener = urllib.request.build_opener()
opener.addheaders = [("Authorization", "Bearer " + KEY)]
urllib.request.install_opener(opener)


def compare():
    import tinker
    from tinker_cookbook.inference.modal import compare as module
    training = tinker.ServiceClient().create_lora_training_client(base_model=MODEL, rank=8, seed=1).result()
    path = training.save_weights_for_sampler(name="compared").result().path
    os.environ["FINETUNE"] = path
    with tempfile.TemporaryDirectory() as d, contextlib.redirect_stdout(io.StringIO()) as out:
        prompts = pathlib.Path(d) / "prompts.json"
        prompts.write_text(json.dumps(PROMPTS))
        asyncio.run(module.compare.info.raw_f(tinker_path=path, url=URL, prompts=str(prompts)))
    last = out.getvalue().strip().splitlines()[-1]
    if not last.startswith(f"disagree on 0/{len(PROMPTS)} "):
        raise AssertionError(out.getvalue())
    return last


report("tinker-cookbook " + importlib.metadata.version("tinker-cookbook"), [("chat/completions", "inference/modal/compare", compare)])
