"""A UDP relay on loopback that impairs what passes, from a seed: losses, delay, a narrow path. Each of its clients gets an upstream socket."""

import heapq
import random
import selectors
import socket
import threading
import time


class Way:
    """One direction of a path. Datagrams keep their order.

    `loss` is the fraction lost. With `burst` losses come in runs of that mean length (a Gilbert model: all is lost in its bad state).
    Each datagram takes `delay` seconds and up to `jitter` more or less. `rate` in bit/s may be changed at any time; None is without
    a limit. Before a narrow path stands a queue, in which a datagram waits `queue` seconds at most, or is dropped.
    """

    def __init__(self, loss=0.0, burst=1.0, delay=0.0, jitter=0.0, rate=None, queue=0.3):
        self.loss, self.burst, self.delay, self.jitter, self.rate, self.queue = loss, burst, delay, jitter, rate, queue
        self.free = self.last = 0.0
        self.is_bad = False
        self.relayed = self.lost = 0

    def arrival(self, size, now, chance):
        """When a datagram of `size` bytes arrives that is sent now, or None if it is lost."""
        if self._loses(chance):
            self.lost += 1
            return None
        if self.rate is not None:
            begins = max(self.free, now)
            if begins - now > self.queue:
                self.lost += 1
                return None
            self.free = now = begins + size * 8 / self.rate
        self.relayed += 1
        self.last = max(self.last, now + self.delay + (2 * chance.random() - 1) * self.jitter)
        return self.last

    def _loses(self, chance):
        if self.burst <= 1:
            return chance.random() < self.loss
        # In the long run the bad state takes its share `loss` of all datagrams, and lasts for `burst` of them.
        leave, enter = 1 / self.burst, self.loss / (1 - self.loss) / self.burst
        self.is_bad = chance.random() >= leave if self.is_bad else chance.random() < enter
        return self.is_bad


class UDPRelay:
    """Relays datagrams between clients and `port` of `host`, an address of this machine; `up` is the way to that port, `down` the way to the clients."""

    IDLE = 0.05

    def __init__(self, port, up=None, down=None, host="127.0.0.1", seed=1):
        self.to, self.up, self.down = (host, port), up or Way(), down or Way()
        self.random = random.Random(seed)
        self.selector = selectors.DefaultSelector()
        self.front = self._socket("127.0.0.1")
        self.port = self.front.getsockname()[1]
        self.upstream = {}  # client address → socket
        self.waiting, self.order = [], 0  # (when, order, socket, address, datagram)
        self.is_open = True
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def relayed(self):
        return self.up.relayed + self.down.relayed

    @property
    def lost(self):
        return self.up.lost + self.down.lost

    def close(self):
        self.is_open = False

    def _socket(self, address, client=None):
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        one.bind((address, 0))
        one.setblocking(False)
        self.selector.register(one, selectors.EVENT_READ, client)
        return one

    def _run(self):
        while self.is_open:
            wait = max(0.0, self.waiting[0][0] - time.monotonic()) if self.waiting else self.IDLE
            for key, _ in self.selector.select(min(wait, self.IDLE)):
                self._read(key.fileobj, key.data)
            now = time.monotonic()
            while self.waiting and self.waiting[0][0] <= now:
                _, _, to, address, datagram = heapq.heappop(self.waiting)
                try:
                    to.sendto(datagram, address)
                except OSError:  # its other end has gone
                    pass
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()

    def _read(self, one, client):
        while True:
            try:
                datagram, source = one.recvfrom(1 << 16)
            except OSError:  # nothing more, or the other end has gone
                return
            if client is None:
                if source not in self.upstream:
                    self.upstream[source] = self._socket(self.to[0], source)
                self._pass(datagram, self.up, self.upstream[source], self.to)
            else:
                self._pass(datagram, self.down, self.front, client)

    def _pass(self, datagram, way, to, address):
        arrival = way.arrival(len(datagram), time.monotonic(), self.random)
        if arrival is not None:
            self.order += 1
            heapq.heappush(self.waiting, (arrival, self.order, to, address, datagram))


def lead(port):
    """Evaluated in a page before it joins: the candidates in the server's answers name the port of a relay."""
    return LEAD.replace("PORT", str(port))


LEAD = """(() => {
  const set = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = function (description) {
    const sdp = description.sdp.replace(/(a=candidate:\\S+ 1 udp \\d+ \\S+) \\d+ /g, "$1 PORT ");
    return set.call(this, { type: description.type, sdp });
  };
  return true;
})()"""
