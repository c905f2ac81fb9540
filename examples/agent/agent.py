"""An agent that trinity trains. It asks the model through OpenAI's client, and grades itself.

    python agent.py [http://127.0.0.1:8010]

asks a run for rollouts. A run can also start it for each rollout: workflow_args: {command: [python, agent.py]}.
"""

import concurrent.futures
import json
import os
import re
import sys
import urllib.request

from openai import OpenAI

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8010"


def post(url, body):
    """Sends JSON and returns the answer's, or None if it has no content."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer) if answer.status == 200 else None


def carry_out(work):
    """Carries one rollout out: asks, asks once more if there is no result, and sends the reward."""
    client = OpenAI(base_url=work["base_url"], api_key="none")
    messages = [
        {"role": "system", "content": "Think, then answer."},
        {"role": "user", "content": work["task"]["question"]},
    ]
    for _ in range(2):
        said = client.chat.completions.create(model="policy", messages=messages).choices[0].message
        result = re.search(r"<answer>\s*(-?\d+)\s*</answer>", said.content or "")
        if result:
            break
        messages += [
            {"role": "assistant", "content": said.content or ""},
            {"role": "user", "content": "Write the result inside <answer> and </answer>."},
        ]
    truth = work["task"]["answer"].split("####")[-1].strip()
    reward = float(bool(result) and result[1] == truth)
    post(work["base_url"] + "/feedback", {"reward": reward})


def main():
    if "TRINITY_TASK_FILE" in os.environ:  # the run started it for one rollout
        with open(os.environ["TRINITY_TASK_FILE"]) as f:
            return carry_out(json.load(f))
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        while True:
            try:
                work = post(URL + "/rollouts/next", {"wait": 30})
            except OSError:  # also a connection that the end of the run cut
                return  # the run has ended
            if work:
                pool.submit(carry_out, work)


main()
