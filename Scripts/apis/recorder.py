"""Records which operations of the vendors' APIs the SDKs have called with success, and in which step of which check."""

import urllib.parse

import botocore.client
import requests
from azure.core.pipeline.policies import CustomHookPolicy


class Recorder:
    """Watches the SDKs of this process. `record` takes what programs called on their own, such as the AWS CLI."""

    def __init__(self, tables):
        self.tables = {table.name: table for table in tables}
        self.vendor, self.step = None, 0
        self.calls = []  # (check, number of the step, API, operation, SDK)
        self._watch_boto3()
        self._watch_azure()
        self._watch_requests()

    def record(self, api, operation, sdk):
        if operation is not None:
            self.calls.append((self.vendor, self.step, api, operation, sdk))

    def _watch_boto3(self):
        names = {"chime-sdk-meetings": "chime-meetings", "ivs-realtime": "ivs-realtime"}
        call = botocore.client.BaseClient._make_api_call

        def recorded(client, operation, members):
            answer = call(client, operation, members)
            service = client.meta.service_model.service_name
            if service in names:
                self.record(names[service], operation, "boto3")
            return answer

        botocore.client.BaseClient._make_api_call = recorded

    def _watch_azure(self):
        hook = CustomHookPolicy.on_response

        def recorded(policy, request, response):
            hook(policy, request, response)
            sent, answer = request.http_request, response.http_response
            if answer.status_code < 400:
                path = urllib.parse.urlsplit(sent.url).path
                is_async = "aiohttp" in type(answer).__module__
                package = "azure-communication-" + ("identity" if path.startswith("/identities") else "rooms")
                self.record(
                    "azure-communication", self.tables["azure-communication"].operation(sent.method, path),
                    package + (" (async)" if is_async else ""))

        CustomHookPolicy.on_response = recorded

    def _watch_requests(self):
        send = requests.Session.send

        def recorded(session, request, **options):
            answer = send(session, request, **options)
            path = urllib.parse.urlsplit(request.url).path
            if answer.status_code < 400 and path.startswith(("/v2/", "/v1/", "/api/")):
                self.record("videosdk", self.tables["videosdk"].operation(request.method, path.rstrip("/")), "requests")
            return answer

        requests.Session.send = recorded

    def shown(self, vendor, table, steps):
        """The core operations of the table that an SDK has called: in the check `vendor`, at or before the step that shows them; in any
        check if the row names no step.

        `steps` has the numbers of the steps by their texts.
        """
        shown = set()
        for row in table.rows_that(mark="core", status="works"):
            calls = [call for call in self.calls if call[2:4] == (table.name, row["operation"])]
            if row.get("step"):
                calls = [call for call in calls if call[0] == vendor and call[1] <= steps.get(row["step"], 0)]
            if calls:
                shown.add(row["operation"])
        return shown

    def operations_by_sdk(self):
        """How many different core operations each SDK has called."""
        core = {(table.name, row["operation"]) for table in self.tables.values() for row in table.rows_that(mark="core")}
        found = {}
        for _, _, api, operation, sdk in self.calls:
            if (api, operation) in core:
                found.setdefault(sdk, set()).add((api, operation))
        return {sdk: len(operations) for sdk, operations in sorted(found.items())}
