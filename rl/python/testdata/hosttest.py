"""Functions for the tests of the host."""

import asyncio
import contextvars
import logging
import threading
import time

from trinity._host import calls, log


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


def chatter(args, call):
    """Prints and logs in turns with others: words in pieces, from a thread too that has the context."""
    for i in range(20):
        print(args["who"], end=" ")
        time.sleep(0.001)
        print(i)
        log("debug", args["who"] + " logs")
        logging.warning("%s warns", args["who"])
    context = contextvars.copy_context()
    thread = threading.Thread(target=lambda: context.run(print, args["who"], "in a thread"))
    thread.start()
    thread.join()


async def chatter_async(args, call):
    for i in range(20):
        print(args["who"], end=" ")
        await asyncio.sleep(0.001)
        print(i)
        log("debug", args["who"] + " logs")
        logging.warning("%s warns", args["who"])
    await asyncio.to_thread(print, args["who"], "in a thread")


def sleep(args, call):
    if "begun" in args:
        open(args["begun"], "w").close()
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
    "test.sleep": sleep, "test.chatter": chatter, "test.chatter_async": chatter_async,
})
