"""An agent that the run starts for each rollout, with nothing but Python's standard library. Any language will do.

It reads its task from standard input, talks to the model at base_url, and writes the reward to reward_file.
"""

import json
import re
import sys
import urllib.request

work = json.load(sys.stdin)


def ask(messages):
    """Returns the model's answer to a conversation."""
    body = json.dumps({"model": work["model"], "messages": messages}).encode()
    request = urllib.request.Request(work["base_url"] + "/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]["content"] or ""


messages = [
    {"role": "system", "content": "Think, then answer."},
    {"role": "user", "content": work["task"]["question"]},
]
for _ in range(2):
    said = ask(messages)
    result = re.search(r"<answer>\s*(-?\d+)\s*</answer>", said)
    if result:
        break
    messages += [
        {"role": "assistant", "content": said},
        {"role": "user", "content": "Write the result inside <answer> and </answer>."},
    ]
truth = work["task"]["answer"].split("####")[-1].strip()
right = float(bool(result) and result[1] == truth)
with open(work["reward_file"], "w") as f:
    json.dump({"reward": right, "metrics": {"accuracy": right}}, f)
