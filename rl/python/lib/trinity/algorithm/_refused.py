"""What all refused registries share."""

INSTEAD = ("losses, advantages and sample strategies are computed by the trinity binary, without torch; name one of its "
           "own (docs/reference/algorithms.md has the list), or write it in Go (examples/plugin)")


class Base:
    """A class that files may derive from. It cannot be used."""

    instead = INSTEAD

    def __init__(self, *_, **__):
        raise NotImplementedError(f"{type(self).__name__} cannot be used here: {self.instead}")

    @classmethod
    def default_args(cls):
        return {}
