"""One end of a peer connection made of aiortc: sends a picture, and counts what it decodes of the pictures that come back.

    aiortc_end.py offer      writes an offer with the mids of both media, reads the answer
    aiortc_end.py answer     reads an offer with the mids of both media, writes the answer

Each description is a line of JSON. Then it writes once in 200 ms how many pictures it has decoded, until its input ends.
"""

import asyncio
import json
import sys

import av
import numpy
from aiortc import RTCPeerConnection, RTCSessionDescription, VideoStreamTrack
from aiortc.mediastreams import MediaStreamError


class Picture(VideoStreamTrack):
    async def recv(self):
        time, base = await self.next_timestamp()
        rows = numpy.zeros((120, 160, 3), dtype=numpy.uint8)
        place = int(time * base * 60) % 120
        rows[40:80, place:place + 40] = (240, 200, 40)
        frame = av.VideoFrame.from_ndarray(rows, format="rgb24")
        frame.pts, frame.time_base = time, base
        return frame


async def main():
    connection, decoded = RTCPeerConnection(), [0]
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def take(track):
        try:
            while True:
                await track.recv()
                decoded[0] += 1
        except MediaStreamError:
            pass

    @connection.on("track")
    def on_track(track):
        asyncio.ensure_future(take(track))

    if sys.argv[1] == "offer":
        sending = connection.addTransceiver(Picture(), direction="sendonly")
        receiving = connection.addTransceiver("video", direction="recvonly")
        await connection.setLocalDescription(await connection.createOffer())
        print(json.dumps({"sdp": connection.localDescription.sdp, "camera": sending.mid, "echo": receiving.mid}), flush=True)
        answer = json.loads(await reader.readline())
        await connection.setRemoteDescription(RTCSessionDescription(sdp=answer["sdp"], type="answer"))
    else:
        offer = json.loads(await reader.readline())
        await connection.setRemoteDescription(RTCSessionDescription(sdp=offer["sdp"], type="offer"))
        for transceiver in connection.getTransceivers():
            if transceiver.mid == offer["camera"]:
                transceiver.sender.replaceTrack(Picture())
                transceiver.direction = "sendonly"
        await connection.setLocalDescription(await connection.createAnswer())
        print(json.dumps({"sdp": connection.localDescription.sdp}), flush=True)

    async def report():
        while True:
            await asyncio.sleep(0.2)
            print(json.dumps({"decoded": decoded[0], "state": connection.connectionState}), flush=True)

    asyncio.ensure_future(report())
    await reader.read()
    await connection.close()


asyncio.run(main())
