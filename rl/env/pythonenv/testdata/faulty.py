"""Environments in which something goes wrong, once the action says so."""

import os
import random
import time

from guessing import Guess


class Faulty(Guess):
    def step(self, action):
        if "raise" in action:
            raise KeyError("no such door")
        if "hang" in action:
            time.sleep(60)
        if "exit" in action:
            os._exit(3)
        if "once" in action and not os.path.exists(action.split()[1]):
            open(action.split()[1], "w").close()
            os._exit(3)
        if "nan" in action:
            return "nothing", float("nan"), False, False, {}
        if "four" in action:
            return "nothing", 0.0, False, {}
        if "image" in action:
            return {"pixels": [0]}, 0.0, False, False, {}
        return super().step(action)


class Hanging(Guess):
    """Hangs where it is told to."""

    def __init__(self, where, tell=""):
        super().__init__()
        self.where, self.tell = where, tell
        self.hang("constructor")

    def hang(self, here):
        if here == self.where:
            if self.tell:
                open(self.tell, "w").close()
            time.sleep(60)

    def reset(self, seed=None):
        self.hang("reset")
        return super().reset(seed)

    def step(self, action):
        self.hang("step")
        return super().step(action)


class Unsteady(Guess):
    """Begins anew every time, whatever the seed."""

    def reset(self, seed=None):
        text, info = super().reset(seed)
        return f"{text} Round {random.SystemRandom().getrandbits(60)}.", info


class UnsteadyUncopied(Unsteady):
    def __deepcopy__(self, memo):
        raise TypeError("it holds a lock")


class Silent:
    def reset(self):
        return f"Say {random.randint(0, 999)}", {}

    def step(self, action):
        return "", 0, True, False, {}
