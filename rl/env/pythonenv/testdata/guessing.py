"""A guessing game with GEM's signatures. It draws from the global random, as GEM's games do."""

import random
import re


class Guess:
    def __init__(self, low=1, high=10, max_turns=5, hints=True):
        self.low, self.high, self.max_turns, self.hints = low, high or 20, max_turns, hints

    def reset(self, seed=None):
        random.seed(seed)
        self.secret = random.randint(self.low, self.high)
        self.turn = 0
        return f"Guess from {self.low} to {self.high}, such as \\boxed{{{random.randint(self.low, self.high)}}}.", {
            "suffix": "Enter a guess."}

    def step(self, action):
        self.turn += 1
        found = re.findall(r"\\boxed\{(\d+)\}", action)
        if not found:
            return "That is no guess.", -0.1, True, False, {}
        n = int(found[-1])
        info = {"suffix": "Enter a guess.", "parsed_action": found[-1], "turn": self.turn, "lucky": random.random()}
        if n == self.secret:
            return "Right.", 1.0, True, False, info
        over = self.turn >= self.max_turns
        hint = ("higher" if n < self.secret else "lower") if self.hints else random.choice(["No.", "Wrong."])
        return f"Turn {self.turn}: {hint}", 0.0, over, over, info

    def sample_random_action(self):
        return f"\\boxed{{{random.randint(self.low, self.high)}}}"


class Uncopied(Guess):
    """One that deepcopy cannot copy."""

    def __deepcopy__(self, memo):
        raise TypeError("it holds a lock")


class Shared(Guess):
    """Its copies are itself."""

    def __deepcopy__(self, memo):
        return self
