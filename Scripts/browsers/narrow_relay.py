"""A UDP relay whose way to its clients is narrow: a rate that may be changed, before it a queue that drops what it cannot hold."""

import heapq
import time

from udp_relay import UDPRelay


class NarrowRelay(UDPRelay):
    """`rate` is in bit/s for all clients together, None without a limit."""

    QUEUE = 0.3  # seconds that a datagram may wait

    def __init__(self, port, rate=None, **options):
        self.rate, self.free = rate, 0.0
        super().__init__(port, **options)

    def _pass(self, datagram, to, address):
        if to is not self.front or self.rate is None:
            super()._pass(datagram, to, address)
            return
        now = time.monotonic()
        begins = max(self.free, now)
        if begins - now > self.QUEUE:
            self.lost += 1
            return
        self.free = begins + len(datagram) * 8 / self.rate
        self.relayed += 1
        self.order += 1
        heapq.heappush(self.waiting, (self.free + self.delay, self.order, to, address, datagram))


# Evaluated in a page before it joins: the answers' candidates name the port of a relay.
LEAD = """(() => {
  const set = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = function (description) {
    const sdp = description.sdp.replace(/(a=candidate:\\S+ 1 udp \\d+ \\S+) \\d+ /g, "$1 PORT ");
    return set.call(this, { type: description.type, sdp });
  };
  return true;
})()"""
