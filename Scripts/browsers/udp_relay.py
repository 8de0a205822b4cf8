"""A UDP relay on loopback that loses and delays datagrams, from a seed; each of its clients gets an upstream socket."""

import heapq
import random
import selectors
import socket
import threading
import time


class UDPRelay:
    """Relays datagrams between clients and `port` on 127.0.0.1.

    `loss` is the fraction lost each way, `delay` the seconds that each way takes.
    """

    IDLE = 0.05

    def __init__(self, port, loss=0.0, delay=0.0, seed=1):
        self.to, self.loss, self.delay = ("127.0.0.1", port), loss, delay
        self.random = random.Random(seed)
        self.selector = selectors.DefaultSelector()
        self.front = self._socket()
        self.port = self.front.getsockname()[1]
        self.upstream = {}  # client address → socket
        self.waiting, self.order = [], 0  # (when, order, socket, address or None, datagram)
        self.relayed = self.lost = 0
        threading.Thread(target=self._run, daemon=True).start()

    def _socket(self, client=None):
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        one.bind(("127.0.0.1", 0))
        one.setblocking(False)
        self.selector.register(one, selectors.EVENT_READ, client)
        return one

    def _run(self):
        while True:
            wait = max(0.0, self.waiting[0][0] - time.monotonic()) if self.waiting else self.IDLE
            for key, _ in self.selector.select(wait):
                self._read(key.fileobj, key.data)
            now = time.monotonic()
            while self.waiting and self.waiting[0][0] <= now:
                _, _, to, address, datagram = heapq.heappop(self.waiting)
                try:
                    to.sendto(datagram, address)
                except OSError:  # its other end has gone
                    pass

    def _read(self, one, client):
        while True:
            try:
                datagram, source = one.recvfrom(1 << 16)
            except OSError:  # nothing more, or the other end has gone
                return
            if client is None:
                if source not in self.upstream:
                    self.upstream[source] = self._socket(source)
                self._pass(datagram, self.upstream[source], self.to)
            else:
                self._pass(datagram, self.front, client)

    def _pass(self, datagram, to, address):
        if self.random.random() < self.loss:
            self.lost += 1
            return
        self.relayed += 1
        self.order += 1
        heapq.heappush(self.waiting, (time.monotonic() + self.delay, self.order, to, address, datagram))
