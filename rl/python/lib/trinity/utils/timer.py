"""A timer for with blocks."""

import time


class Timer:
    """Sets metrics_dict[key_name] to the seconds of a with block."""

    def __init__(self, metrics_dict, key_name):
        self.metrics = metrics_dict
        self.key = key_name

    def __enter__(self):
        self.start_time = time.time()
        return self

    def __exit__(self, *_):
        self.metrics[self.key] = time.time() - self.start_time
