"""Functions that fail in all the ways that code can."""

import asyncio
import ctypes
import os
import subprocess
import sys
import time

from trinity._host import calls


def tell(args):
    """Makes the file that says that a function has begun."""
    if "begun" in args:
        open(args["begun"], "w").close()


def exit_at_once(args, call):
    os._exit(7)


def crash(args, call):
    ctypes.string_at(0)


def sys_exit(args, call):
    sys.exit("enough")


def spin(args, call):
    tell(args)
    end = time.monotonic() + args["seconds"]
    while time.monotonic() < end:
        pass


def hold_the_lock(args, call):
    """Sleeps in C code that keeps the interpreter's lock, so nothing else runs."""
    tell(args)
    ctypes.PyDLL(None).sleep(int(args["seconds"]))


async def block_the_loop(args, call):
    tell(args)
    time.sleep(args["seconds"])


async def wait(args, call):
    asyncio.get_running_loop().call_soon(tell, args)  # when it sleeps
    await asyncio.sleep(args["seconds"])


def wait_up(args, call):
    tell(args or {})
    return call.up("demo.wait", {})


def garbage(args, call):
    call._host.wire.send(args["text"].encode() + b"\n")
    time.sleep(60)


def raw_print(args, call):
    os.write(1, b"raw\n")
    print("by the first stdout", file=sys.__stdout__)
    sys.stdout.buffer.write(b"by its buffer\n")
    sys.stdout.flush()
    ctypes.CDLL(None).puts(b"from C")
    ctypes.CDLL(None).fflush(None)
    subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
    subprocess.run([sys.executable, "-c", "print('by its stdout')"], check=True, stdout=sys.stdout)


def flood_print(args, call):
    block = "x" * 999 + "\n"
    for _ in range(args["mb"]):
        print(block * 1000, end="")


def flood_lines(args, call):
    for i in range(args["lines"]):
        print("line", i)


def flood_raw(args, call):
    block = b"y" * ((1 << 20) - 1) + b"\n"
    for _ in range(args["mb"]):
        os.write(1, block)


def allocate(args, call):
    return len(bytearray(args["mb"] << 20))


def hoard(args, call):
    """Takes memory in small pieces until there is none."""
    kept = []
    while True:
        kept.append("x" * 1000 + str(len(kept)))


def big_result(args, call):
    return "x" * args["bytes"]


def unsayable(args, call):
    return {"f": print}


def numbers(args, call):
    return {"a": [1.5, float("nan")], "b": float("inf"), "c": (-float("inf"), {"x"}), "d": "\ud800"}


def itself(args, call):
    a = []
    a.append(a)
    return a


def deep(args, call):
    def down(n):
        return 0 if n == 0 else 1 + max([n], key=lambda m: down(m - 1)) * 0 + down(0)

    return down(10 ** 6)


def fork(args, call):
    """A child that prints, raises and returns through this code must not disturb its parent's pipe."""
    pid = os.fork()
    if pid == 0:
        print("in the child")
        try:
            call.up("demo.wait", {})
        except RuntimeError:
            return "nobody hears this"
    return os.waitpid(pid, 0)[1]


def spawn(args, call):
    """Leaves a child behind."""
    child = subprocess.Popen(["sleep", "1000"])
    return [os.getpid(), child.pid]


state = {}


def remember(args, call):
    state.update(args)
    return os.getpid()


def recall(args, call):
    return state


calls.update({f"fail.{f.__name__}": f for f in [
    exit_at_once, crash, sys_exit, spin, hold_the_lock, block_the_loop, wait, wait_up, garbage, raw_print, flood_print,
    flood_lines, flood_raw, allocate, hoard, big_result, unsayable, numbers, itself, deep, fork,
    spawn, remember, recall,
]})
