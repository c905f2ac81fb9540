"""A timer for with blocks."""

import time


class Timer:
    """Adds the seconds of a with block to metrics_dict[key]."""

    def __init__(self, metrics_dict, key):
        self.metrics = metrics_dict
        self.key = key

    def __enter__(self):
        self.start_time = time.time()
        return self

    def __exit__(self, *_):
        self.metrics[self.key] = self.metrics.get(self.key, 0) + time.time() - self.start_time
