"""Reinforcement fine-tuning of language models, from Python: the binary trinity trains, this package talks to it.

    from trinity_go import GRPO

    def reward(completion: str, answer: str) -> float:
        return float(answer in completion)

    run = GRPO(model="Qwen/Qwen3-0.6B", data=[{"question": "What is 2 + 3?", "answer": "5"}], reward=reward).train()
    print(run.chat("What is 3 + 4?"))
"""

from trinity_go._binary import Error, binary
from trinity_go._run import GRPO, SFT
from trinity_go._serve import Server, serve

__all__ = ["GRPO", "SFT", "Error", "Server", "binary", "serve"]
