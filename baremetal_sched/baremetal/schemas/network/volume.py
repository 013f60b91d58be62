"""Bodies of requests about volume connectors and volume targets."""

from baremetal_sched.documents.schema import JsonObject, StrictSchema, Text, Uuid, Whole


class _Connector(StrictSchema):
    node_uuid = Uuid(required=True)
    type = Text(longest=32, required=True)
    connector_id = Text(longest=255, required=True)
    extra = JsonObject()


class _Target(StrictSchema):
    node_uuid = Uuid(required=True)
    volume_type = Text(longest=64, required=True)
    volume_id = Text(longest=255, required=True)
    boot_index = Whole(required=True)
    properties = JsonObject()
    extra = JsonObject()


class _ConnectorCreate(_Connector):
    uuid = Uuid(allow_none=True)


class _TargetCreate(_Target):
    uuid = Uuid(allow_none=True)


CONNECTOR_CREATE = _ConnectorCreate()
CONNECTOR_UPDATE = _Connector()
TARGET_CREATE = _TargetCreate()
TARGET_UPDATE = _Target()
