"""A back end for apps of Amazon IVS stages, in the way of the vendor's real-time guide: it creates stages and participant tokens.

    flask --app Samples/backends/ivs_stages.py run --port 8082

    POST /create      {"userId", "attributes"}                   creates a stage; answers {"groupId", "stage", "participantToken"}
    POST /join        {"groupId", "userId", "attributes"}        creates a token for a stage; answers the same
    POST /disconnect  {"groupId", "participantId", "reason"}     removes a participant and revokes its token
    POST /delete      {"groupId"}                                ends the stage for everyone
    GET  /list                                                   the stages with the participants that are on them

boto3 takes credentials, region and endpoint from the environment. With AWS_ENDPOINT_URL_IVS_REALTIME=http://localhost:8080 the stages
are on `koine serve`, otherwise in the cloud.
"""

import boto3
from botocore.exceptions import ClientError
from flask import Flask, jsonify, request

app = Flask(__name__)
ivs = boto3.client("ivs-realtime")
# ARNs of stages by group. A back end with several processes keeps them in a database.
stages = {}


def configuration(body):
    return {"userId": body["userId"], "attributes": body.get("attributes") or {}, "capabilities": ["PUBLISH", "SUBSCRIBE"]}


def stage_of(body):
    arn = stages.get(body.get("groupId"))
    if arn is None:
        raise LookupError
    return arn


@app.errorhandler(LookupError)
def missing(_):
    return jsonify(error="no such group, or a member of the body is missing"), 404


@app.errorhandler(ClientError)
def refused(error):
    return jsonify(error=error.response["Error"]), error.response["ResponseMetadata"]["HTTPStatusCode"]


@app.post("/create")
def create():
    made = ivs.create_stage(participantTokenConfigurations=[configuration(request.json)])
    group = made["stage"]["arn"].split("/")[-1]
    stages[group] = made["stage"]["arn"]
    return jsonify(groupId=group, stage=made["stage"], participantToken=made["participantTokens"][0])


@app.post("/join")
def join():
    arn = stage_of(request.json)
    token = ivs.create_participant_token(stageArn=arn, **configuration(request.json))["participantToken"]
    return jsonify(groupId=request.json["groupId"], stage=ivs.get_stage(arn=arn)["stage"], participantToken=token)


@app.post("/disconnect")
def disconnect():
    body = request.json
    ivs.disconnect_participant(
        stageArn=stage_of(body), participantId=body["participantId"], reason=body.get("reason", "disconnected by the back end"))
    return jsonify({})


@app.post("/delete")
def delete():
    ivs.delete_stage(arn=stage_of(request.json))
    del stages[request.json["groupId"]]
    return jsonify({})


@app.get("/list")
def list_stages():
    found = []
    for stage in ivs.list_stages()["stages"]:
        session = stage.get("activeSessionId")
        people = ivs.list_participants(
            stageArn=stage["arn"], sessionId=session, filterByState="CONNECTED")["participants"] if session else []
        found.append({"stageArn": stage["arn"], "participants": [
            {"participantId": each["participantId"], "userId": each.get("userId")} for each in people]})
    return jsonify(stages=found)
