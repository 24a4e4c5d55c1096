"""Live clients of the voting application: each request on a connection of its own, whatever became of those before.

clients.py ADDRESS...   asks each node at a steady rate until standard input ends, then waits for what is under way.
Each request is one line on standard output when it is over, as JSON:
  {"at": SECONDS, "node": N, "kind": "page|vote|result", "ms": N, "id": VOTE or null, "wrong": REASON or null}
`at` is the time when it began, since 1970. Each second there is a line {"since": SECONDS}: what began before is over.
"""

import asyncio
import json
import sys
import time

# Per node and second, and how long a client waits for the whole answer. A vote waits in the application itself.
KINDS = {"page": (8080, 5, 5), "vote": (8080, 3, 15), "result": (8081, 2, 5)}

open_since = []


async def answer(address, port, request):
    reader, writer = await asyncio.open_connection(address, port)
    try:
        writer.write(f"{request} HTTP/1.0\r\nHost: voting\r\n\r\n".encode())
        text = (await reader.read()).decode()
        head, _, body = text.partition("\r\n\r\n")
        if " 200 " not in head.split("\r\n")[0]:
            raise OSError(head.split("\r\n")[0] or "closed without an answer")
        if body == "":
            raise OSError("cut within the answer")
    finally:
        writer.close()


def say(line):
    print(json.dumps(line), flush=True)


async def ask(address, node, kind, vote):
    port, _, patience = KINDS[kind]
    begun, wrong = time.time(), None
    open_since.append(begun)
    try:
        request = "GET /" if vote is None else f"POST /{vote}/{'cats' if node % 2 else 'dogs'}"
        await asyncio.wait_for(answer(address, port, request), patience)
    except asyncio.TimeoutError:
        wrong = f"no answer in {patience} s"
    except OSError as error:
        wrong = error.strerror or str(error)
    open_since.remove(begun)
    took = round((time.time() - begun) * 1000)
    say({"at": begun, "node": node, "kind": kind, "ms": took, "id": vote, "wrong": wrong})


async def keep_asking(address, node, kind, over, under_way):
    count = 0
    while not over.is_set():
        count += 1
        vote = f"{node}-{count}" if kind == "vote" else None
        task = asyncio.create_task(ask(address, node, kind, vote))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
        await asyncio.sleep(1 / KINDS[kind][1])


async def tell_since():
    while True:
        say({"since": min(open_since, default=time.time())})
        await asyncio.sleep(1)


async def main(addresses):
    over, under_way = asyncio.Event(), set()
    loop = asyncio.get_running_loop()
    loop.add_reader(0, over.set)
    telling = asyncio.create_task(tell_since())
    await asyncio.gather(
        *(
            keep_asking(address, node, kind, over, under_way)
            for node, address in enumerate(addresses, 1)
            for kind in KINDS
        )
    )
    loop.remove_reader(0)
    while under_way:
        await asyncio.wait(under_way)
    telling.cancel()


asyncio.run(main(sys.argv[1:]))
