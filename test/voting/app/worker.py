"""Takes votes from the queue, writes them to the database, and tells the front of each that is stored."""

import json
import signal
import sys
import time

import redis
from database import Database

# What was taken and not written is put into the queue again by the front.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
cache = redis.Redis(host="redis", socket_connect_timeout=1, socket_timeout=3)
database = Database()
database.run("CREATE TABLE IF NOT EXISTS votes (id text PRIMARY KEY, choice text NOT NULL)")
print("ready", flush=True)
while True:
    try:
        taken = cache.blpop("votes", timeout=1)
        if taken is None:
            continue
        vote = json.loads(taken[1])
        database.run(
            "INSERT INTO votes VALUES (%s, %s) ON CONFLICT DO NOTHING", (vote["id"], vote["choice"])
        )
        told = cache.pipeline()
        told.rpush(f"stored:{vote['id']}", "1")
        told.expire(f"stored:{vote['id']}", 30)
        told.execute()
    except redis.RedisError as error:
        print(error, file=sys.stderr, flush=True)
        time.sleep(0.1)
