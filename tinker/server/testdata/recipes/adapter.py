"""Downloads an adapter that was trained on the head of a tied model, and loads and merges it with peft and tinker-cookbook.

    adapter.py MODEL WORK

Prints lines that begin with "> ". The logprobs of the training forward are what the others must give: peft exactly but for the width of floats (the
server computes in bfloat16). tinker-cookbook merges what was added to the head into the embedding, which a tied model uses twice, so what it makes
is only near.
"""

import pathlib
import shutil
import sys

import tinker
import torch
from peft import PeftModel
from tinker import types
from tinker_cookbook import weights
from tinker_cookbook.exceptions import WeightsDownloadError
from transformers import AutoModelForCausalLM

TOKENS = list(range(5, 40))


def load(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")


def off(model, want):
    """By how much the logprobs of TOKENS differ at most."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([TOKENS])).logits[0].float()
    got = torch.log_softmax(logits[:-1], -1).gather(1, torch.tensor(TOKENS[1:])[:, None])[:, 0]
    return float((got - want).abs().max())


def main():
    base, work = sys.argv[1], pathlib.Path(sys.argv[2])
    shutil.rmtree(work, ignore_errors=True)
    service = tinker.ServiceClient()
    client = service.create_lora_training_client(base_model="tiny/lm", rank=4, seed=1, train_unembed=True).result()
    datum = types.Datum(model_input=types.ModelInput.from_ints(TOKENS[:-1]), loss_fn_inputs={"target_tokens": TOKENS[1:], "weights": [1.0] * (len(TOKENS) - 1)})
    for _ in range(3):
        client.forward_backward([datum], "cross_entropy").result()
        client.optim_step(types.AdamParams(learning_rate=3e-3)).result()
    want = torch.tensor(client.forward([datum], "cross_entropy").result().loss_fn_outputs[0]["logprobs"].data)
    plain = off(load(base), want)
    print(f"> training moves the logprobs by {plain:.2f}")
    for name, kwargs in {"no recipients": {}, "recipients null": {"age_encryption_recipients": None}, "recipients []": {"age_encryption_recipients": []}}.items():
        path = client.save_weights_external(name.replace(" ", "-").replace("[]", "empty"), **kwargs).result().path
    weights.download(tinker_path=path, output_dir=str(work / "adapter"))
    print(f"> downloaded {sorted(p.name for p in (work / 'adapter').iterdir())}")
    moved = off(PeftModel.from_pretrained(load(base), work / "adapter"), want)
    print(f"> peft: off by {moved:.3f}")
    assert moved < 0.05 < plain, (moved, plain)
    for strategy in ("shard", "full"):
        weights.build_hf_model(base_model=base, adapter_path=str(work / "adapter"), output_path=str(work / strategy), merge_strategy=strategy, dtype="float32")
        merged = off(load(work / strategy), want)
        print(f"> build_hf_model, {strategy}: off by {merged:.3f}")
        assert merged < plain / 4, (strategy, merged, plain)
    state = client.save_state("state").result().path
    try:
        weights.download(tinker_path=state, output_dir=str(work / "state"))
    except WeightsDownloadError as e:
        assert "age_encryption_recipients" in str(e) and "leave it out" in str(e), e
        print("> download of a training state, which the cookbook has encrypted with age, is refused with a remedy")


if __name__ == "__main__":
    main()
