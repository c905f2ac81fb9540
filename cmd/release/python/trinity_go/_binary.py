"""The binary: where it is, and what it says when it fails."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sysconfig
from pathlib import Path


class Error(RuntimeError):
    """What the binary ended with. Its text names the thing, the value and the remedy."""


def binary() -> str:
    """The path of the program: where pip has put the commands of this package, else the first of PATH."""
    name = "trinity.exe" if os.name == "nt" else "trinity"
    user = sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
    target = Path(__file__).parent.parent / "bin"  # pip install --target
    for folder in (sysconfig.get_path("scripts"), str(target), user):
        path = Path(folder, name)
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    found = shutil.which(name)
    if found is None:
        raise Error("the program trinity is not here; pip install trinity-go brings it")
    return found


def start(*args: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """Starts the program in a process group of its own, so that a Ctrl-C reaches this process alone."""
    windows = os.name == "nt"
    return subprocess.Popen([binary(), *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env={**os.environ, **(env or {})}, encoding="utf-8",
                            errors="replace", start_new_session=not windows, creationflags=0x200 if windows else 0)  # a new group


def interrupt(process: subprocess.Popen[str]) -> None:
    """Ctrl-C: the first asks the program to save and end, the second ends it at once."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT if os.name != "nt" else getattr(signal, "CTRL_BREAK_EVENT"))


def failure(said: str) -> Error:
    """The error in what the program wrote to stderr: from its name on."""
    _, mark, text = ("\n" + said).partition("\ntrinity: ")
    return Error((text if mark else said).strip() or "trinity ended without a word")


def call(*args: str, given: str = "") -> str:
    """Runs the program to its end and returns its output."""
    done = subprocess.run([binary(), *args], input=given, capture_output=True, encoding="utf-8", errors="replace")
    if done.returncode:
        raise failure(done.stderr)
    return done.stdout
