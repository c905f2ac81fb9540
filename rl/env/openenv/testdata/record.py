"""Records what a real OpenEnv server says: record.py URL SCRIPT > FILE.jsonl

SCRIPT has a line for each exchange: "GET /path", "POST /path BODY", or a message to the WebSocket; an empty line begins
a new session. The recording has a line of JSON for each: what was asked, and the answer.
"""

import asyncio
import json
import sys
import urllib.error
import urllib.request

import websockets

URL = sys.argv[1].rstrip("/")


def over_http(line):
    method, path, *body = line.split(" ", 2)
    request = urllib.request.Request(URL + path, method=method, data=body[0].encode() if body else None,
                                     headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            return {"status": answer.status, "answer": answer.read().decode()}
    except urllib.error.HTTPError as e:
        return {"status": e.code, "answer": e.read().decode()}


async def main():
    socket = None
    for line in open(sys.argv[2], encoding="utf-8"):
        line = line.rstrip("\n")
        if line == "":
            if socket:
                await socket.close()
            socket = None
            continue
        if line.startswith(("GET ", "POST ")):
            print(json.dumps({"asked": line, **over_http(line)}))
            continue
        if socket is None:
            socket = await websockets.connect("ws" + URL[4:] + "/ws", max_size=None)
        await socket.send(line)
        print(json.dumps({"asked": line, "answer": await socket.recv()}))
    if socket:
        await socket.close()


asyncio.run(main())
