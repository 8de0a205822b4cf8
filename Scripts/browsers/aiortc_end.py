"""One end of a peer connection made of aiortc: sends a picture, and counts what it decodes of the pictures that come back.

    aiortc_end.py offer      writes an offer with the mids of both media, reads the answer
    aiortc_end.py answer     reads an offer with the mids of both media, writes the answer

Each description is a line of JSON. Then it writes a line for each picture that it has decoded, until its input ends.
"""

import asyncio
import json
import sys

from aiortc import RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError

from aiortc_peer import Picture


async def main():
    connection, decoded = RTCPeerConnection(), [0]
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def take(track):
        try:
            while True:
                await track.recv()
                decoded[0] += 1
                print(json.dumps({"decoded": decoded[0]}), flush=True)
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

    await reader.read()
    await connection.close()


asyncio.run(main())
