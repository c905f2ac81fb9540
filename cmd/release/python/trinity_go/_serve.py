"""The Tinker API on this machine, for scripts that use the package tinker."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trinity_go._binary import failure, interrupt, start


@dataclass(frozen=True)
class Server:
    """Where the server is. OpenAI's interface is at url + "/v1"."""

    url: str
    key: str


@contextlib.contextmanager
def serve(*models: str, data: str | Path | None = None, flags: Sequence[str] = ()) -> Iterator[Server]:
    """Serves models while the context lasts, and sets TINKER_BASE_URL and TINKER_API_KEY. Without data nothing is kept."""
    with contextlib.ExitStack() as stack:
        folder = str(data) if data else stack.enter_context(tempfile.TemporaryDirectory(prefix="trinity-"))
        named = [f"--models={m}" for m in models]
        process = stack.enter_context(start("serve", "--addr=127.0.0.1:0", f"--data={folder}", *named, *flags))
        assert process.stdout is not None and process.stderr is not None
        said: list[str] = []
        reader = threading.Thread(target=said.extend, args=(process.stderr,), daemon=True)
        reader.start()
        try:
            found = next(filter(None, (re.search(r"TINKER_BASE_URL=(\S+) TINKER_API_KEY=(\S+)", x)
                                       for x in process.stdout)), None)
            if found is None:
                process.wait()
                reader.join()
                raise failure("".join(said))
            threading.Thread(target=process.stdout.read, daemon=True).start()
            names = ("TINKER_BASE_URL", "TINKER_API_KEY")
            stack.callback(os.environ.update, {k: os.environ.pop(k) for k in names if k in os.environ})
            stack.callback(lambda: [os.environ.pop(k, None) for k in names])
            os.environ.update(zip(names, found.groups()))
            yield Server(*found.groups())
        finally:
            interrupt(process)
            process.wait()
            reader.join()
