"""Models that call tools: trained over the Tinker API, from tokens that the server's own /tokenize gives.

As a program it prints the path of weights that take the turns of checks.py: a call of add, a call of sub, and an answer.
"""

import json
import os
import urllib.request

import tinker


def tokens(body):
    request = urllib.request.Request(os.environ["TINKER_BASE_URL"] + "/tokenize", json.dumps(body).encode(), {
        "Content-Type": "application/json", "Authorization": "Bearer " + os.environ["TINKER_API_KEY"]})
    with urllib.request.urlopen(request) as r:
        return json.load(r)["tokens"]


def datum(base, messages, tools, answer):
    prompt = tokens({"model": base, "messages": messages, "tools": tools})
    answer = tokens({"model": base, "prompt": answer + "<|im_end|>", "add_special_tokens": False})
    ids = prompt + answer
    return tinker.types.Datum(model_input=tinker.types.ModelInput.from_ints(ids[:-1]), loss_fn_inputs={
        "target_tokens": ids[1:], "weights": [0.0] * (len(prompt) - 1) + [1.0] * len(answer)})


def train(base, messages, tools, answer):
    """Trains a model to answer messages with answer, and returns the path of its weights. tools have OpenAI's form."""
    return train_turns(base, tools, [(messages, answer)], 0.5)


def train_turns(base, tools, turns, loss):
    """The same for several turns, each (messages, answer), until their negative log-likelihoods sum to less than loss."""
    data = [datum(base, messages, tools, answer) for messages, answer in turns]
    training = tinker.ServiceClient().create_lora_training_client(base_model=base, rank=32, seed=1).result()
    for i in range(400):
        done = training.forward_backward(data, "cross_entropy")
        training.optim_step(tinker.types.AdamParams(learning_rate=5e-3 * (1 - i / 400))).result()
        if done.result().metrics["loss:sum"] < loss:
            break
    return training.save_weights_for_sampler(name="calls").result().path


def call(name, a):
    return f'<tool_call>\n{{"name": "{name}", "arguments": {{"a": {a}}}}}\n</tool_call>'


def main():
    from checks import BASE, FINAL, QUESTION, STEPS, TOOLS
    messages, turns = list(QUESTION), []
    for i, (name, a, text) in enumerate(STEPS):
        turns.append((list(messages), call(name, a)))
        function = {"name": name, "arguments": json.dumps({"a": a})}
        messages += [{"role": "assistant", "content": "", "tool_calls": [{"id": f"call_{i}", "type": "function", "function": function}]},
                     {"role": "tool", "tool_call_id": f"call_{i}", "content": text}]
    # inspect-ai drops the temperature for some providers, so the turns have to come at temperature 1 too.
    print(train_turns(BASE, TOOLS, turns + [(messages, FINAL)], 0.002))


if __name__ == "__main__":
    main()
