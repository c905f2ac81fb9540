"""Functions for the tests of the host."""

import asyncio
import time

from trinity._host import calls


def echo(args, call):
    return args


def call_back(args, call):
    return call.up("demo.add", args)


async def call_back_async(args, call):
    await asyncio.sleep(0)
    return await call.up_async("demo.add", args)


def fail(args, call):
    raise ValueError("no such thing: " + args["what"])


def say(args, call):
    print(args["text"])


def sleep(args, call):
    time.sleep(args["seconds"])


def episode(args, call):
    """Adds up what the other side says to each turn."""
    return sum(call.up("demo.turn", {"episode": args["episode"], "turn": i}) for i in range(args["turns"]))


async def episode_async(args, call):
    total = 0
    for i in range(args["turns"]):
        total += await call.up_async("demo.turn", {"episode": args["episode"], "turn": i})
    return total


def empty(args, call):
    return None


async def empty_async(args, call):
    return None


calls.update({
    "test.episode_sync": episode, "test.episode_async": episode_async,
    "test.empty_sync": empty, "test.empty_async": empty_async,
    "test.echo": echo, "test.up": call_back, "test.up_async": call_back_async, "test.fail": fail, "test.say": say,
    "test.sleep": sleep,
})
