"""Loggers that write to the job's log, with the id of the task that they are used in."""

import logging
import sys

_LEVELS = ((logging.ERROR, "error"), (logging.WARNING, "warning"), (logging.INFO, "info"))


class _Handler(logging.Handler):
    """Hands records to the process's output, which knows the task."""

    def emit(self, record):
        try:
            text = f"[{record.filename}:{record.lineno}] {self.format(record)}\n"
            (sys.stderr if record.levelno >= logging.WARNING else sys.stdout).write(text)
        except Exception:
            self.handleError(record)


class NewLineFormatter(logging.Formatter):
    """Repeats what stands before a message before each of its further lines."""

    def format(self, record):
        text = super().format(record)
        before = text.partition(record.message)[0] if record.message else ""
        return text.replace("\n", f"\r\n{before}")


def get_logger(name=None, level=None, in_ray_actor=False):
    """The logger of a name, at level INFO unless another is given."""
    logger = logging.getLogger(f"trinity.{name}" if name else "trinity")
    if not any(isinstance(h, _Handler) for h in logger.handlers):
        logger.addHandler(_Handler())
        logger.propagate = False
        logger.setLevel(logging.INFO)
    if level is not None:
        logger.setLevel(level)
    return logger
