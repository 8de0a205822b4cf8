"""A back end that makes a room with each of the four vendors, and what one app needs to join it, with the vendors' own SDKs.

    python Samples/backends/four_vendors.py

It prints one JSON object: by vendor, the name of the room and the answer for the app. Credentials and endpoints come from the environment,
as `koine credentials FILE --environment` and Docs/backends.md say; without the endpoints the rooms are in the vendors' clouds.
"""

import json
import os
import time
import uuid

import boto3
import jwt
import requests
from azure.communication.identity import CommunicationIdentityClient, CommunicationTokenScope
from azure.communication.rooms import ParticipantRole, RoomParticipant, RoomsClient
from azure.core.credentials import AzureKeyCredential


def azure(name):
    endpoint, key = os.environ["AZURE_COMMUNICATION_ENDPOINT"], AzureKeyCredential(os.environ["AZURE_COMMUNICATION_KEY"])
    user, token = CommunicationIdentityClient(endpoint, key).create_user_and_token([CommunicationTokenScope.VOIP])
    room = RoomsClient(endpoint, key).create_room(
        participants=[RoomParticipant(communication_identifier=user, role=ParticipantRole.PRESENTER)])
    return {"room": room.id, "user": user.properties["id"], "name": name, "token": token.token}


def videosdk(name):
    now = int(time.time())
    claims = {"apikey": os.environ["VIDEOSDK_API_KEY"], "permissions": ["allow_join"], "version": 2, "iat": now, "exp": now + 3_600}
    token = jwt.encode(claims, os.environ["VIDEOSDK_SECRET_KEY"], algorithm="HS256")
    answer = requests.post(os.environ["VIDEOSDK_API_ENDPOINT"] + "/rooms", headers={"Authorization": token}, json={}, timeout=10)
    answer.raise_for_status()
    return {"room": answer.json()["roomId"], "name": name, "token": token}


def ivs(name):
    made = boto3.client("ivs-realtime").create_stage(
        name="demo", participantTokenConfigurations=[{"userId": name.lower(), "attributes": {"username": name}}])
    return {"room": made["stage"]["arn"].split("/")[-1], "name": name, "token": made["participantTokens"][0]["token"]}


def chime(name):
    client = boto3.client("chime-sdk-meetings")
    meeting = client.create_meeting(
        ClientRequestToken=str(uuid.uuid4()), MediaRegion="eu-central-1", ExternalMeetingId="demo")["Meeting"]
    attendee = client.create_attendee(MeetingId=meeting["MeetingId"], ExternalUserId=name)["Attendee"]
    answer = {"JoinInfo": {"Meeting": {"Meeting": meeting}, "Attendee": {"Attendee": attendee}}}
    return {"room": meeting["MeetingId"], "name": name, "answer": answer}


if __name__ == "__main__":
    print(json.dumps({"azure": azure("Ana"), "videosdk": videosdk("Ben"), "ivs": ivs("Cleo"), "chime": chime("Dan")}))
