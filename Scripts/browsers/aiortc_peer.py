"""A participant made of aiortc, another WebRTC implementation than ours or a browser's: sends a picture and a tone, takes
what everybody else sends, and writes once a second what has come, by name, as a line of JSON: also the longest time between
two pieces of audio since the line before ("gap", in milliseconds).

    aiortc_peer.py ws://127.0.0.1:8080/browser ROOM NAME [TOKEN]
"""

import asyncio
import fractions
import json
import math
import sys

import av
import numpy
import websockets
from aiortc import RTCPeerConnection, RTCSessionDescription, VideoStreamTrack
from aiortc.mediastreams import AudioStreamTrack, MediaStreamError


class Picture(VideoStreamTrack):
    async def recv(self):
        for _ in range(3):  # ten pictures a second, of the thirty that there are times for
            time, base = await self.next_timestamp()
        rows = numpy.zeros((180, 320, 3), dtype=numpy.uint8)
        place = int(time * base * 60) % 280
        rows[40:80, place:place + 40] = (240, 200, 40)
        frame = av.VideoFrame.from_ndarray(rows, format="rgb24")
        frame.pts, frame.time_base = time, base
        return frame


class Tone(AudioStreamTrack):
    start = None

    async def recv(self):
        if self.start is None:
            self.start, self.sent = asyncio.get_running_loop().time(), 0
        wait = self.start + self.sent / 48_000 - asyncio.get_running_loop().time()
        if wait > 0:
            await asyncio.sleep(wait)
        times = numpy.arange(self.sent, self.sent + 960) / 48_000
        samples = (8_000 * numpy.sin(2 * math.pi * 500 * times)).astype(numpy.int16).reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = 48_000, self.sent, fractions.Fraction(1, 48_000)
        self.sent += 960
        return frame


class Peer:
    def __init__(self, socket, room, name, token=None):
        self.socket, self.room, self.name, self.token = socket, room, name, token
        self.connection, self.heard = RTCPeerConnection(), {}
        self.others, self.wanted, self.seats, self.figures = {}, [], {}, {}
        self.taken, self.number, self.answer, self.is_dirty = set(), 0, None, False

    async def run(self):
        for track in (Tone(), Picture()):
            self.connection.addTransceiver(track, direction="sendonly")
        asyncio.ensure_future(self.report())
        await self.offer("join")
        async for text in self.socket:
            await self.hear(json.loads(text))

    async def report(self):
        while True:
            await asyncio.sleep(1)
            now = asyncio.get_running_loop().time()
            for name, heard in self.heard.items():  # silence that goes on is a gap, too
                self.figures[name]["gap"] = max(self.figures[name]["gap"], (now - heard) * 1000)
            print(json.dumps(self.figures), flush=True)
            for figures in self.figures.values():
                figures["gap"] = 0

    async def offer(self, kind):
        if self.answer:
            self.is_dirty = True
            return
        self.number += 1
        for who, track, media in self.wanted:
            self.seats[who, track] = self.connection.addTransceiver(media, direction="recvonly")
        self.wanted = []
        await self.connection.setLocalDescription(await self.connection.createOffer())
        mids = [one.mid for one in self.connection.getTransceivers()]
        offer = {
            "number": self.number, "sdp": self.connection.localDescription.sdp,
            "send": [{"mid": mids[0], "id": "microphone", "kind": "microphone"},
                     {"mid": mids[1], "id": "camera", "kind": "camera"}],
            # What comes before the answer is set aiortc takes for another medium's, or drops: key frames, too.
            "receive": [{"mid": seat.mid, "participant": who, "track": track, "paused": seat.mid not in self.taken}
                        for (who, track), seat in self.seats.items()],
        }
        self.answer = self.number
        join = {"type": "join", "version": 1, "room": self.room, "name": self.name} if kind == "join" else {"type": kind}
        if kind == "join" and self.token:
            join["credential"] = self.token
        await self.socket.send(json.dumps({**join, "offer": offer}))

    async def hear(self, message):
        kind = message["type"]
        if kind == "joined":
            for other in message["participants"]:
                self.meet(other)
        elif kind == "participantJoined":
            self.meet(message["participant"])
        elif kind == "published":
            self.want(message["participant"], message["tracks"])
        elif kind == "answer" and message["number"] == self.answer:
            await self.connection.setRemoteDescription(RTCSessionDescription(sdp=message["sdp"], type="answer"))
            while self.connection.connectionState != "connected":  # an offer meanwhile would take back what was agreed on
                await asyncio.sleep(0.05)
            self.answer = None
            # Python decodes what comes: the small layers will do.
            await self.socket.send(json.dumps({"type": "prefer", "tracks": [
                {"reference": {"participant": who, "track": track}, "maxHeight": 180} for who, track in self.seats]}))
            fresh = [(who, track, seat) for (who, track), seat in self.seats.items()
                     if seat.receiver.track and seat.mid not in self.taken]
            for who, track, seat in fresh:
                self.taken.add(seat.mid)
                asyncio.ensure_future(self.take(self.others[who], seat.kind, seat.receiver.track))
            await self.socket.send(json.dumps({"type": "resume", "tracks": [
                {"participant": who, "track": track} for who, track, _ in fresh]}))
        elif kind in ("refused", "ended"):
            sys.exit(f"aiortc: {message}")
        if self.is_dirty and not self.answer:
            self.is_dirty = False
            await self.offer("offer")

    def meet(self, other):
        self.others[other["id"]] = other["name"]
        self.want(other["id"], other["tracks"])

    def want(self, who, tracks):
        for track in tracks:
            media = "audio" if track["kind"] in ("microphone", "screenSound") else "video"
            self.wanted.append((who, track["id"], media))
        self.is_dirty = self.is_dirty or bool(tracks)

    async def take(self, name, media, track):
        while True:
            try:
                frame = await track.recv()
            except MediaStreamError:  # the track has ended
                if media == "audio":
                    self.heard.pop(name, None)
                return
            figures = self.figures.setdefault(name, {"frames": 0, "packets": 0, "energy": 0, "gap": 0})
            if media == "video":
                figures["frames"] += 1
            else:
                figures["packets"] += 1
                now = asyncio.get_running_loop().time()
                figures["gap"] = max(figures["gap"], (now - self.heard.get(name, now)) * 1000)
                self.heard[name] = now
                figures["energy"] += float(numpy.square(frame.to_ndarray() / 32_768).mean())


async def main():
    address, room, name, *token = sys.argv[1:]
    async with websockets.connect(address, max_size=None) as socket:
        await Peer(socket, room, name, *token).run()


if __name__ == "__main__":
    asyncio.run(main())
