"""A game in Python: guess a number from 1 to 12, and it is always 3, 6, 9 or 12. Nobody says so; the model finds out.

Any class with these three methods can be played. It has the signatures of GEM's and Gymnasium's environments, and needs
neither of them installed.
"""

import random
import re

TASK = """You are playing Guess The Number.
A number from 1 to 12 (both included) was chosen. Find it within 3 turns.
After each wrong guess you are told whether the target number is 'higher' or 'lower'.
You may think aloud, but only the number inside \\boxed{{}} counts as your guess, for example \\boxed{{{example}}}.
Your guesses and the hints will be listed below.
Enter your first guess to start the game.
"""


class Threes:
    def __init__(self, max_turns=3):
        self.max_turns = max_turns

    def reset(self, seed=None):
        """Begins an episode. All that is drawn is drawn from the seed: one seed is one episode."""
        draw = random.Random(seed)
        self.target = 3 * draw.randint(1, 4)
        self.turn = 0
        return TASK.format(example=draw.randint(1, 12)), {"suffix": "Enter your next guess."}

    def step(self, action):
        """Takes the model's whole answer. The rewards of a won game sum to 1."""
        self.turn += 1
        guesses = re.findall(r"\\boxed\{(\d+)\}", action)
        if not guesses:
            return f"At turn {self.turn}, you did not provide a valid guess.", -0.1, True, False, {}
        n, info = int(guesses[-1]), {"suffix": "Enter your next guess."}
        if n == self.target:
            return "Congratulations!", 1.0, True, False, info
        hint = "higher" if n < self.target else "lower"
        over = self.turn >= self.max_turns
        return f"At turn {self.turn}, you guessed {n}, and the target number is {hint} than {n}.", 0.0, over, over, info

    def sample_random_action(self):
        """The random player, for trinity gem eval --random."""
        return f"\\boxed{{{random.randint(1, 12)}}}"
