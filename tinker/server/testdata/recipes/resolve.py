"""Resolves what a checkpoints.jsonl names: every state is loaded with its optimizer, every sampler is sampled from. Prints how many."""

import json
import sys

import tinker
from tinker import types


def main():
    service = tinker.ServiceClient()
    found = {"lines": 0, "states": 0, "samplers": 0}
    for line in open(sys.argv[1]):
        record = json.loads(line)
        found["lines"] += 1
        if path := record.get("state_path"):
            client = service.create_training_client_from_state_with_optimizer(path)
            datum = types.Datum(model_input=types.ModelInput.from_ints([1, 2, 3]), loss_fn_inputs={"target_tokens": [2, 3, 4], "weights": [1.0, 1.0, 1.0]})
            client.forward([datum], "cross_entropy").result()
            found["states"] += 1
        if path := record.get("sampler_path"):
            sampler = service.create_sampling_client(model_path=path)
            sequence = sampler.sample(types.ModelInput.from_ints([1, 2, 3]), 1, types.SamplingParams(max_tokens=4)).result().sequences[0]
            assert sequence.tokens and len(sequence.tokens) == len(sequence.logprobs), sequence
            found["samplers"] += 1
    print(json.dumps(found))


if __name__ == "__main__":
    main()
