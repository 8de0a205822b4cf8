"""Recordings by VideoSDK's REST API, on a server with a folder for them."""

import requests

import videosdk_rest
from context import expect, expect_equal, until
from served import Server


def check(context):
    folder = context.out / "recordings"
    folder.mkdir(exist_ok=True)
    for file in folder.rglob("*"):
        if file.is_file():
            file.unlink()
    server = Server(
        context.programs, context.out / "recording-server.log", "--open", "--api-credentials", context.credentials_file, "--recordings",
        folder)
    context.backend = f"ws://127.0.0.1:{server.port}"

    def call(method, path, **body):
        answer = requests.request(
            method, f"http://127.0.0.1:{server.port}/v2{path}", json=body or None, timeout=10,
            headers={"Authorization": videosdk_rest.token(context)})
        expect_equal(answer.status_code, 200, f"{method} {path}: {answer.text}")
        return answer.json()

    try:
        context.step("a back end starts and ends a recording: the app hears of it, and the file is there")
        room = call("POST", "/rooms")["roomId"]
        app = videosdk_rest.enter(context, "ana", room)
        until("a session", lambda: call("GET", f"/sessions?roomId={room}")["data"])
        until("Ana's app is in the room", lambda: app.says("onMeetingJoined()"))
        call("POST", "/recordings/start", roomId=room)
        until("Ana's app reports the recording", lambda: app.says("onRecordingStateChanged(state: RECORDING_STARTED)"))
        until("the file has media", lambda: [file for file in folder.rglob("*.part") if file.stat().st_size > 1_000])
        call("POST", "/recordings/end", roomId=room)
        until("Ana's app reports the recording's end", lambda: app.says("onRecordingStateChanged(state: RECORDING_STOPPED)"))

        def files():
            return [file for file in folder.rglob("*") if file.suffix == ".webm" and file.stat().st_size > 1_000]

        until("the file is complete", files)
        expect(not list(folder.rglob("*.part")), "a file that is not complete")
        expect_equal(len(call("GET", f"/recordings?roomId={room}")["data"]), 1, "the recordings of the room")
        app.end()
    finally:
        server.stop()
