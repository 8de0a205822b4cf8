"""A participant without media that measures the round trip to the server's media port, as its own connection checks have it.

    stun_probe.py ws://127.0.0.1:8080/browser ROOM NAME TOKEN

Sends 20 STUN checks a second on the path that ICE chose and writes each round trip in milliseconds on a line.
"""

import asyncio
import json
import sys

import aioice.stun
import websockets
from aiortc import RTCPeerConnection, RTCSessionDescription

PER_SECOND = 20


async def probe(ice):
    loop = asyncio.get_running_loop()
    due = loop.time()
    while True:
        pair = next(iter(ice._nominated.values()))
        request = ice.build_request(pair, nominate=False)
        begun = loop.time()
        try:
            await pair.protocol.request(
                request, pair.remote_addr, integrity_key=ice.remote_password.encode(), retransmissions=2)
            print((loop.time() - begun) * 1000, flush=True)
        except aioice.stun.TransactionError:
            print(10_000, flush=True)
        due = max(due + 1 / PER_SECOND, loop.time())
        await asyncio.sleep(due - loop.time())


async def main():
    address, room, name, token = sys.argv[1:]
    connection = RTCPeerConnection()
    connection.addTransceiver("audio", direction="recvonly")
    await connection.setLocalDescription(await connection.createOffer())
    async with websockets.connect(address, max_size=None) as socket:
        await socket.send(json.dumps({
            "type": "join", "version": 1, "room": room, "name": name, "credential": token,
            "offer": {"number": 1, "sdp": connection.localDescription.sdp, "send": [], "receive": []}}))
        async for text in socket:
            message = json.loads(text)
            if message["type"] == "answer":
                await connection.setRemoteDescription(RTCSessionDescription(sdp=message["sdp"], type="answer"))
                while connection.connectionState != "connected":
                    await asyncio.sleep(0.05)
                ice = connection.getTransceivers()[0].receiver.transport.transport._connection
                asyncio.ensure_future(probe(ice))
            elif message["type"] in ("refused", "ended"):
                sys.exit(f"stun probe: {message}")


asyncio.run(main())
