"""The page of results.

GET /        the number of votes in the database, 503 when it cannot be asked
GET /health  200 as long as this program works, whatever the database does
"""

import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, LifoQueue

import psycopg2
from database import Database

DATABASE_WAITED_S = 3
idle = LifoQueue()


def counted():
    try:
        database = idle.get_nowait()
    except Empty:
        database = Database()
    try:
        return database.run("SELECT count(*) FROM votes", seconds=DATABASE_WAITED_S)[0][0]
    finally:
        idle.put(database)


class Results(BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            status, body = 200, (b"well\n" if self.path == "/health" else f"{counted()}\n".encode())
        except psycopg2.Error as error:
            status, body = 503, str(error).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 512


server = Server(("", 80), Results)
signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
server.serve_forever(poll_interval=0.05)
server.server_close()
