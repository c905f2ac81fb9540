"""A game for OpenEnv: guess a number from 1 to 12, and it is always 3, 6, 9 or 12. Nobody says so; the model finds out."""

import random
import re
from typing import Any, Optional
from uuid import uuid4

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

TASK = """You are playing Guess The Number.
A number from 1 to 12 (both included) was chosen. Find it within 3 turns.
After each wrong guess you are told whether the target number is 'higher' or 'lower'.
You may think aloud, but only the number inside \\boxed{{}} counts as your guess, for example \\boxed{{{example}}}.
Your guesses and the hints will be listed below.
Enter your first guess to start the game.
"""

# The tasks of each split: the example that the task shows.
SPLITS = {"train": list(range(1, 9)), "test": list(range(9, 13))}


class Guess(Action):
    message: str


class Hint(Observation):
    text: str
    turn: int


class Threes(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self.target = 0
        self._state = State(episode_id=str(uuid4()), step_count=0)

    def reset(self, seed: Optional[int] = None, episode_id: Optional[str] = None, split: Optional[str] = None,
              index: Optional[int] = None, **kwargs: Any) -> Hint:
        """Begins an episode. All that is drawn is drawn from the seed: one seed is one episode."""
        draw = random.Random(seed)
        self.target = 3 * draw.randint(1, 4)
        example = draw.randint(1, 12)
        if split is not None:
            example = SPLITS[split][index]
        self._state = State(episode_id=episode_id or str(uuid4()), step_count=0)
        return Hint(text=TASK.format(example=example), turn=0)

    def step(self, action: Guess, timeout_s: Optional[float] = None, **kwargs: Any) -> Hint:
        """Takes the model's whole answer. The rewards of a won game sum to 1."""
        self._state.step_count += 1
        turn = self._state.step_count
        guesses = re.findall(r"\\boxed\{(\d+)\}", action.message)
        if not guesses:
            return Hint(text=f"At turn {turn}, you did not provide a valid guess.", turn=turn, reward=-0.1, done=True)
        n = int(guesses[-1])
        if n == self.target:
            return Hint(text="Congratulations!", turn=turn, reward=1.0, done=True)
        hint = "higher" if n < self.target else "lower"
        return Hint(text=f"At turn {turn}, you guessed {n}, and the target number is {hint} than {n}.", turn=turn,
                    reward=0.0, done=turn >= 3)

    @property
    def state(self) -> State:
        return self._state

    # The task API.

    def list_splits(self):
        return [{"name": name, "type": name} for name in SPLITS]

    def num_tasks(self, split):
        return len(SPLITS[split])

    def list_tasks(self, split):
        return [{"id": f"{split}-{i}", "index": i, "example": e} for i, e in enumerate(SPLITS[split])]

    def get_task(self, split, index):
        return self.list_tasks(split)[index]

    def get_task_range(self, split, start=None, stop=None):
        return self.list_tasks(split)[start:stop]
