"""What containers of a swarm serve and ask in tests, run by the machine's own python3.

serve PORT          answers each request with `HOSTNAME CLIENT-ADDRESS`; ends what is under way when it gets SIGTERM
ask URL COUNT       asks with a new connection each time; prints each answer, or `failed REASON`
load URL FILE       asks until FILE is there; prints how many requests succeeded and, each, why one did not
serve6 PORT         as serve, at addresses of both families
look NAME           prints the IPv4 addresses of a name in order, or `unknown`
look6 NAME          the same of IPv6
echo PORT           answers datagrams with `HOSTNAME CLIENT-ADDRESS`
shout HOST PORT N   sends N datagrams from one socket; prints each answer, or `failed REASON`
"""

import os
import signal
import socket
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        client = self.client_address[0].removeprefix("::ffff:")
        body = f"{socket.gethostname()} {client}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 512


class Server6(Server):
    address_family = socket.AF_INET6

    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


def serve6(port):
    run(Server6(("::", int(port)), Page))


def serve(port):
    run(Server(("", int(port)), Page))


def run(server):
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever(poll_interval=0.05)
    server.server_close()


def fetch(url):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=5) as answer:
        return answer.read().decode().strip()


def ask(url, count):
    for _ in range(int(count)):
        try:
            print(fetch(url), flush=True)
        except OSError as error:
            print(f"failed {error}", flush=True)


def load(url, stop):
    good, bad = 0, []
    while not os.path.exists(stop):
        try:
            fetch(url)
            good += 1
        except OSError as error:
            bad.append(str(error))
    print(f"{good} good")
    for reason in bad[:20]:
        print(f"failed {reason}")


def look6(name):
    look(name, socket.AF_INET6)


def look(name, family=socket.AF_INET):
    try:
        found = {info[4][0] for info in socket.getaddrinfo(name, None, family)}
        print(" ".join(sorted(found, key=lambda address: socket.inet_pton(family, address))))
    except socket.gaierror:
        print("unknown")


def echo(port):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("", int(port)))
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    while True:
        _, client = server.recvfrom(2048)
        server.sendto(f"{socket.gethostname()} {client[0]}".encode(), client)


def shout(host, port, count):
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(2)
    client.connect((host, int(port)))
    for _ in range(int(count)):
        try:
            client.send(b"x")
            print(client.recv(2048).decode(), flush=True)
        except OSError as error:
            print(f"failed {error}", flush=True)


if __name__ == "__main__":
    verb, *words = sys.argv[1:]
    verbs = [serve, serve6, ask, load, look, look6, echo, shout]
    {each.__name__: each for each in verbs}[verb](*words)
