"""The front of the voting application.

GET /           the page: `HOSTNAME RELEASE`
POST /ID/CHOICE 200 once the vote is in the database, 503 when that took longer than a voter waits

A vote goes into a queue in redis and comes back as `stored:ID` from the worker that has written it. Redis keeps nothing
on disk, so a vote that does not come back is put into the queue again: the database takes each id once.
"""

import json
import os
import signal
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import redis

VOTER_WAITS_S = 12
AGAIN_AFTER_S = 2

cache = redis.Redis(host="redis", socket_connect_timeout=1, socket_timeout=AGAIN_AFTER_S + 1)


def store(vote, choice):
    end = time.monotonic() + VOTER_WAITS_S
    while time.monotonic() < end:
        try:
            cache.rpush("votes", json.dumps({"id": vote, "choice": choice}))
            if cache.blpop(f"stored:{vote}", timeout=AGAIN_AFTER_S) is not None:
                return True
        except redis.RedisError:
            time.sleep(0.1)
    return False


class Front(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(200, f"{socket.gethostname()} {os.environ['RELEASE']}\n")

    def do_POST(self):
        _, vote, choice = self.path.split("/")
        if store(vote, choice):
            self.answer(200, "stored\n")
        else:
            self.answer(503, "not stored\n")

    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    # What is under way is answered before the program ends.
    daemon_threads = False
    request_queue_size = 512


server = Server(("", 80), Front)
signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
server.serve_forever(poll_interval=0.05)
server.server_close()
