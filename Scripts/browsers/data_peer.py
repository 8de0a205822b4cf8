"""A participant of a cluster's room that sends kept messages and writes what it is told of them, by nothing but Docs/protocol.md.

    data_peer.py ROOM NAME PLACE,PLACE…               sends a message five times a second, until it is ended
    data_peer.py --history ROOM NAME PLACE,PLACE…     writes what the room keeps, and leaves

Its media are an aiortc connection without tracks. After a break it joins again, as “More than one server” says. It keeps listening
on a connection that it has given up: a server that was frozen must not acknowledge anything there later. Each line of its output is an
object of JSON with the monotonic time `at`:

    {"sent": ID}    {"receipt": ID, "order", "failure", "isLate"}    {"data": ID, "order"}    {"kept": ID, "order"}
    {"joined": PLACE, "isNew", "continues"}    {"lost": PLACE, "reason"}
"""

import asyncio
import base64
import json
import sys
import time

import websockets
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription

UNCOUNTED = {"heard", "ping", "pong", "bye", "resumeConversation", "resumed", "refused"}
INTERVAL = 0.2
OPEN_LIMIT, ENTRY_LIMIT, LATE_LIMIT = 5, 15, 60
# A home that goes down has passed on what it acknowledged so long before.
PASSED_ON = 10


def write(**fields):
    print(json.dumps({**fields, "at": time.monotonic()}), flush=True)


class Gone(Exception):
    """The stay at a server has ended. `places`: where the server sends us."""

    def __init__(self, reason, places=None):
        super().__init__(reason)
        self.places = places


class Sent:
    def __init__(self, message):
        self.message, self.acknowledged, self.order, self.former = message, None, None, None

    def acknowledge(self, order, now):
        """A home that gives the message its number has read it in the ledger: it is as old as its first receipt."""
        self.acknowledged = self.former[1] if self.former and self.former[0] == order else now
        self.order = order

    def reopen(self, continues):
        if self.acknowledged is not None and self.order is not None:
            self.former = self.order, self.acknowledged
        if not continues:
            self.former = None
        self.acknowledged = None


class Client:
    def __init__(self, room, name, places, is_reader=False):
        self.room, self.name, self.configured, self.is_reader = room, name, places, is_reader
        self.named, self.targets, self.home, self.suspect = [], [], None, None
        self.id = self.epoch = self.key = self.socket = None
        self.seen = self.last_order = self.known = self.number = self.heard = 0
        self.sent, self.left, self.finished = {}, None, asyncio.Event()

    # MARK: Servers

    async def run(self):
        if not self.is_reader:
            asyncio.ensure_future(self.talk())
        round_, is_moved = [], False
        while not self.finished.is_set():
            if not round_:
                await asyncio.sleep(0.3 if self.epoch else 0)
                known = self.named or self.configured
                round_ = [place for place in known if place != self.suspect] + [place for place in known if place == self.suspect]
            place = round_.pop(0)
            try:
                await self.stay(place, is_moved and place in self.targets)
            except (Gone, OSError, asyncio.TimeoutError, websockets.WebSocketException) as error:
                reason = str(error) or type(error).__name__
                write(lost=place, reason=reason)
                places = getattr(error, "places", None)
                is_moved = places is not None
                if is_moved:
                    self.named = places + [one for one in self.named or self.configured if one not in places]
                    self.targets, round_ = places, places + [one for one in self.named if one not in places]
                    self.home = places[0] if places else self.home
                elif self.socket:  # we were in: try all again, the home first, unless it is silent
                    self.suspect = place if reason == "silent" else self.suspect
                    round_ = [one for one in self.named if one != self.suspect] + [one for one in self.named if one == self.suspect]
                elif place == self.home:
                    self.suspect = place
                if self.socket:
                    self.left = time.monotonic()
                self.socket = None

    async def stay(self, place, is_moved):
        """Is in the room at this server until that ends."""
        socket = await asyncio.wait_for(
            websockets.connect(f"{place}/browser", ping_interval=None, max_size=None, close_timeout=0.1), OPEN_LIMIT)
        if self.suspect == place:
            self.suspect = None
        connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.heard = told = 0
        times, last, pinged, is_silent = None, time.monotonic(), time.monotonic(), False
        try:
            await self.join(socket, connection, is_moved)
            ends = time.monotonic() + ENTRY_LIMIT
            while True:
                try:
                    message = json.loads(await asyncio.wait_for(socket.recv(), 0.5))
                    last = time.monotonic()
                    self.heard += message["type"] not in UNCOUNTED
                    if message["type"] == "joined":
                        times = message.get("pingSeconds", 5), message.get("silenceSeconds", 15)
                    await self.take(message, socket, connection, place)
                    if self.heard - told >= 16 or message["type"] == "joined":
                        told = self.heard
                        await socket.send(json.dumps({"type": "heard", "heard": told}))
                except asyncio.TimeoutError:
                    pass
                now = time.monotonic()
                if times is None and now > ends:
                    raise Gone("not admitted")
                if times and now - last > times[1]:
                    is_silent = True
                    raise Gone("silent")
                if times and now - pinged > times[0]:
                    pinged = now
                    await socket.send('{"type":"ping","number":1}')
        finally:
            asyncio.ensure_future(connection.close())
            asyncio.ensure_future(self.listen_late(socket) if is_silent else socket.close())

    async def listen_late(self, socket):
        """Whether a server that has fallen silent acknowledges anything when it wakes up."""
        ends = time.monotonic() + LATE_LIMIT
        try:
            while time.monotonic() < ends:
                message = json.loads(await asyncio.wait_for(socket.recv(), LATE_LIMIT))
                if message["type"] == "dataReceipt":
                    self.receipt(message, is_late=True)
        except (OSError, asyncio.TimeoutError, websockets.WebSocketException):
            pass
        await socket.close()

    # MARK: The room

    async def join(self, socket, connection, is_moved):
        connection.addTransceiver("audio", direction="sendonly")
        await connection.setLocalDescription(await connection.createOffer())
        join = {
            "type": "join", "version": 1, "room": self.room, "name": self.name, "participantID": self.id,
            "returningTo": self.epoch, "resumptionKey": self.key, "seen": self.seen or None, "isMoved": is_moved or None,
            "unreachable": self.suspect,
            "offer": {"number": 1, "sdp": connection.localDescription.sdp, "send": [], "receive": []}}
        await socket.send(json.dumps({name: value for name, value in join.items() if value is not None}))

    async def take(self, message, socket, connection, place):
        kind = message["type"]
        if kind == "resumable":
            self.key = message["key"]
        elif kind == "joined":
            await self.enter(message, socket, place)
        elif kind == "answer":
            await connection.setRemoteDescription(RTCSessionDescription(sdp=message["sdp"], type="answer"))
        elif kind == "history":
            self.keep(message["messages"])
            self.finish(message.get("hasMore"))
        elif kind == "data":
            self.last_order = max(self.last_order, message["order"])
            self.seen = max(self.seen, message["order"])
            write(data=message.get("id"), order=message["order"])
        elif kind == "dataReceipt":
            self.receipt(message)
        elif kind == "moved":
            raise Gone("moved", message["places"])
        elif kind == "refused":
            if message["failure"]["code"] == "moved":
                raise Gone("refused: moved", message["places"])
            raise Gone(f"refused: {message['failure']}")
        elif kind == "ended":
            raise Gone(f"ended: {message['reason']}")

    async def enter(self, message, socket, place):
        is_new = message["epoch"] != self.epoch
        continues = message.get("continues", False)
        self.known = self.last_order if self.epoch and is_new and continues else 0
        if self.epoch and is_new and not continues:
            self.seen = self.last_order = 0
        write(joined=place, isNew=is_new, continues=continues)
        self.id, self.epoch = message["local"]["id"], message["epoch"]
        self.named = message.get("places") or self.named
        self.home = self.named[0] if self.named else place
        self.keep(message.get("history", []))
        for one in self.unheard(is_new, continues):
            await socket.send(json.dumps(one))
        self.socket, self.suspect = socket, None
        self.finish(message.get("hasMoreHistory"))

    def unheard(self, is_new, continues):
        for name, one in list(self.sent.items()):
            if one.acknowledged is not None and (not is_new or (self.left or 0) - one.acknowledged >= PASSED_ON):
                del self.sent[name]
            one.reopen(continues)
        return [one.message for one in self.sent.values()]

    def keep(self, messages):
        for message in messages:
            if message["order"] > self.known:
                self.last_order = max(self.last_order, message["order"])
                write(kept=message.get("id"), order=message["order"])
        self.seen = max(self.seen, self.last_order)

    def finish(self, has_more):
        if self.is_reader and not has_more:
            self.finished.set()
            raise Gone("done")

    # MARK: Messages

    async def talk(self):
        while True:
            await asyncio.sleep(INTERVAL)
            self.number += 1
            name = f"{self.name}-{self.number}"
            message = {
                "type": "data", "topic": "proof", "payload": base64.b64encode(name.encode()).decode(), "id": name,
                "isPersistent": True}
            self.sent[name] = Sent(message)
            write(sent=name)
            if self.socket:
                try:
                    await self.socket.send(json.dumps(message))
                except (OSError, websockets.WebSocketException):
                    pass  # the stay ends by itself

    def receipt(self, message, is_late=False):
        failure = (message.get("failure") or {}).get("code")
        write(receipt=message["id"], order=message.get("order"), failure=failure, isLate=is_late)
        if failure or is_late:
            return
        self.seen = max(self.seen, message.get("order") or 0)
        now = time.monotonic()
        if message["id"] in self.sent:
            self.sent[message["id"]].acknowledge(message.get("order"), now)
        for name, one in list(self.sent.items()):
            if one.acknowledged is None or now - one.acknowledged < PASSED_ON:
                break
            del self.sent[name]


async def main():
    words = sys.argv[1:]
    is_reader = words[0] == "--history"
    room, name, places = words[is_reader:]
    await Client(room, name, places.split(","), is_reader).run()


asyncio.run(main())
