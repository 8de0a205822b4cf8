"""A back end for apps of the Amazon Chime SDK, in the way of the vendor's getting-started guide: it creates the meeting and the attendee.

    flask --app Samples/backends/chime_meetings.py run --port 8081

    POST /join?title=standup&name=Ana   creates the meeting of this title if there is none, and an attendee; answers {"JoinInfo": …}
    POST /end?title=standup             ends the meeting for everyone

boto3 takes credentials, region and endpoint from the environment. With AWS_ENDPOINT_URL_CHIME_SDK_MEETINGS=http://localhost:8080 the
meetings are on `koine serve`, otherwise in the cloud.
"""

import threading
import uuid

import boto3
from flask import Flask, jsonify, request

app = Flask(__name__)
chime = boto3.client("chime-sdk-meetings")
# Meetings by title. A back end with several processes keeps them in a database.
meetings = {}
lock = threading.Lock()


def meeting_of(title, region):
    """The meeting of a title; a new one if there is none, or if it has ended."""
    with lock:
        known = meetings.get(title)
        if known is not None:
            try:
                return chime.get_meeting(MeetingId=known)["Meeting"]
            except chime.exceptions.NotFoundException:
                del meetings[title]
        meeting = chime.create_meeting(
            ClientRequestToken=str(uuid.uuid4()), MediaRegion=region, ExternalMeetingId=title[:64])["Meeting"]
        meetings[title] = meeting["MeetingId"]
        return meeting


@app.post("/join")
def join():
    title, name = request.args.get("title"), request.args.get("name")
    if not title or not name:
        return jsonify(error="title and name are needed"), 400
    meeting = meeting_of(title, request.args.get("region", "us-east-1"))
    # The user id has to be unique. The name after it is what the apps show.
    attendee = chime.create_attendee(
        MeetingId=meeting["MeetingId"], ExternalUserId=f"{uuid.uuid4().hex[:8]}#{name}"[:64])["Attendee"]
    return jsonify(JoinInfo={"Title": title, "Meeting": {"Meeting": meeting}, "Attendee": {"Attendee": attendee}})


@app.post("/end")
def end():
    with lock:
        known = meetings.pop(request.args.get("title", ""), None)
    if known is None:
        return jsonify(error="there is no such meeting"), 404
    try:
        chime.delete_meeting(MeetingId=known)
    except chime.exceptions.NotFoundException:
        pass  # it has ended by itself
    return jsonify({})
