"""Bodies of requests about deploy templates."""

from baremetal_sched.baremetal.schemas.nodes.traits import TraitName
from baremetal_sched.baremetal.schemas.provisioning.steps import DEPLOY_STEP, Steps
from baremetal_sched.documents.schema import JsonObject, StrictSchema, Text, Uuid


class _TemplateUpdate(StrictSchema):
    name = TraitName(required=True)
    steps = Steps(DEPLOY_STEP, "template", "deploy", required=True)
    description = Text(longest=255, allow_none=True)
    extra = JsonObject()


class _TemplateCreate(_TemplateUpdate):
    uuid = Uuid(allow_none=True)


TEMPLATE_CREATE = _TemplateCreate()
TEMPLATE_UPDATE = _TemplateUpdate()
