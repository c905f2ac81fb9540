"""A model that calls a tool: trained over the Tinker API, from tokens that the server's own /tokenize gives."""

import json
import os
import urllib.request

import tinker


def tokens(body):
    request = urllib.request.Request(os.environ["TINKER_BASE_URL"] + "/tokenize", json.dumps(body).encode(), {
        "Content-Type": "application/json", "Authorization": "Bearer " + os.environ["TINKER_API_KEY"]})
    with urllib.request.urlopen(request) as r:
        return json.load(r)["tokens"]


def train(base, messages, tools, answer):
    """Trains a model to answer messages with answer, and returns the path of its weights. tools have OpenAI's form."""
    prompt = tokens({"model": base, "messages": messages, "tools": tools})
    answer = tokens({"model": base, "prompt": answer + "<|im_end|>", "add_special_tokens": False})
    ids = prompt + answer
    training = tinker.ServiceClient().create_lora_training_client(base_model=base, rank=32, seed=1).result()
    datum = tinker.types.Datum(model_input=tinker.types.ModelInput.from_ints(ids[:-1]), loss_fn_inputs={
        "target_tokens": ids[1:], "weights": [0.0] * (len(prompt) - 1) + [1.0] * len(answer)})
    for i in range(400):
        done = training.forward_backward([datum], "cross_entropy")
        training.optim_step(tinker.types.AdamParams(learning_rate=5e-3 * (1 - i / 400))).result()
        if done.result().metrics["loss:sum"] < 0.5:
            break
    return training.save_weights_for_sampler(name="calls").result().path
