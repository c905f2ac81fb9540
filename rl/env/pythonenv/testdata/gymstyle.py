"""An environment with Gymnasium's signatures: a generator of its own, an action space, keyword-only arguments."""

import random


class Words:
    """A space of texts."""

    def __init__(self, words):
        self.words, self.draw = words, random.Random(0)

    def seed(self, seed):
        self.draw = random.Random(seed)

    def sample(self):
        return self.draw.choice(self.words)


class Lights:
    """Switch all three lights on; each word switches one."""

    metadata = {"render_modes": []}

    def __init__(self):
        self.action_space = Words(["red", "green", "blue"])

    def reset(self, *, seed=None, options=None):
        self.random = random.Random(seed)
        self.on = {w: self.random.random() < 0.4 for w in self.action_space.words}
        self.turn = 0
        return self.show(), {}

    def step(self, action):
        self.turn += 1
        words = [w for w in self.action_space.words if w in action]
        if not words:
            return "no light has that name", -0.1, True, False, {}
        self.on[words[-1]] = not self.on[words[-1]]
        won = all(self.on.values())
        return self.show(), 1.0 if won else 0.0, won, self.turn == 9, {}

    def show(self):
        return ", ".join(f"{w} is {'on' if v else 'off'}" for w, v in self.on.items())
