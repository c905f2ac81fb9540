class Loud:
    def __init__(self, env):
        self.env = env

    def reset(self, seed=None):
        obs, info = self.env.reset(seed=seed)
        return obs.upper(), info

    def step(self, action):
        return self.env.step(action)


def get_wrapper_fns(names):
    return [{"loud": Loud}[name] for name in names.split(",")]
