"""A die that rolls with NumPy, which it imports when it first rolls."""


class Dice:
    def reset(self, seed=None):
        return "Roll.", {}

    def step(self, action):
        import numpy

        return str(numpy.random.randint(1 << 30)), 0.0, True, False, {}
