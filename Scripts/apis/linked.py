"""Rooms of all four vendors, made by their back ends, linked to one: an app of each style sees and hears the three others."""

import json
import re

from azure.communication.identity import CommunicationIdentityClient, CommunicationTokenScope
from azure.communication.rooms import ParticipantRole, RoomParticipant, RoomsClient
from azure.core.credentials import AzureKeyCredential
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
import requests

import azure_communication
import chime_meetings
import ivs_realtime
import videosdk_rest
from context import expect, expect_equal, until


def link(context, *names, secret=None):
    """The answer to POST /koine/v1/links."""
    key = context.credentials["koine"][0]
    request = AWSRequest(
        "POST", context.endpoint + "/koine/v1/links", headers={"Content-Type": "application/json"},
        data=json.dumps({"rooms": names}))
    SigV4Auth(Credentials(key["accessKeyId"], secret or key["secretAccessKey"]), "koine", "local").add_auth(request)
    return requests.post(request.url, data=request.body, headers=dict(request.headers), timeout=10)


def check(context):
    context.step("four back ends make four rooms")
    chime, ivs = chime_meetings.client(context), ivs_realtime.client(context)
    meeting = chime.create_meeting(ClientRequestToken="linked", MediaRegion="eu-central-1", ExternalMeetingId="linked")["Meeting"]
    attendee = chime.create_attendee(MeetingId=meeting["MeetingId"], ExternalUserId="cal#Cal")["Attendee"]
    stage = ivs.create_stage(participantTokenConfigurations=[{"userId": "iva"}])
    key = AzureKeyCredential(context.credentials["azure"][0]["accessKeys"][0])
    user, token = CommunicationIdentityClient(context.endpoint, key).create_user_and_token([CommunicationTokenScope.VOIP])
    room = RoomsClient(context.endpoint, key).create_room(
        participants=[RoomParticipant(communication_identifier=user, role=ParticipantRole.PRESENTER)])
    videosdk = requests.post(
        context.endpoint + "/v2/rooms", timeout=10, headers={"Authorization": videosdk_rest.token(context)}).json()["roomId"]
    names = [meeting["MeetingId"], stage["stage"]["arn"].split("/")[-1], room.id, videosdk]
    expect_equal(link(context, *names[:2], secret="wrong").status_code, 403, "the status of a link with a wrong signature")
    answer = link(context, *names[:2])
    expect_equal(answer.json(), {"room": names[0], "names": names[:2]}, "the answer to a link")
    context.rooms.ask("link", *names[1:])

    context.step("all four apps are in one room, see and hear each other")
    seconds = 6 if context.is_short else 12
    apps = {
        "chime": chime_meetings.enter(context, meeting, attendee, "linked-chime", seconds),
        "ivs": ivs_realtime.enter(context, stage["participantTokens"][0]["token"], "linked-ivs", seconds),
        "azure": azure_communication.enter(context, token.token, "linked-azure", "--room", room.id, seconds=seconds),
        "videosdk": videosdk_rest.enter(context, "vic", videosdk, seconds)}
    until("four are in the room", lambda: len(context.rooms.people(names[0])) == 4)
    for name, app in apps.items():
        expect_equal(app.wait(seconds + 20), 0, f"the exit code of the app of {name}")
        # Of the table at the end: receiver < sender, packets, lost, again, frames.
        lines = re.findall(r"^(\S.*?) < (\S.*?)\s{2,}\d+.*?(\d+)/\d+", app.text(), re.MULTILINE)
        seen = {sender for _, sender, frames in lines if int(frames) > 20}
        expect(len(seen) == 3, f"the app of {name} sees {sorted(seen)}")

    context.step("a back end ends the stays under its own name only")
    again = {
        "ivs": ivs_realtime.enter(context, stage["participantTokens"][0]["token"], "linked-ivs-2"),
        "azure": azure_communication.enter(context, token.token, "linked-azure-2", "--room", room.id)}
    until("two are in the room", lambda: len(context.rooms.people(names[0])) == 2)
    ivs.delete_stage(arn=stage["stage"]["arn"])
    until("the app of the stage ends", lambda: again["ivs"].wait(0.1) is not None, 6)
    expect_equal(context.rooms.people(names[0]), [user.properties["id"]], "the participants that stay")
