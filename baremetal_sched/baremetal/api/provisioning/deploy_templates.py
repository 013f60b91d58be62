"""/v1/deploy_templates"""

from baremetal_sched.baremetal.api.resources.standard_views import StandardViews
from baremetal_sched.baremetal.api.resources.view import BaremetalView, resource
from baremetal_sched.baremetal.provisioning import deploy_templates
from baremetal_sched.baremetal.schemas.provisioning.runbooks import TEMPLATE_CREATE
from baremetal_sched.db.models import DeployTemplate

TEMPLATES = StandardViews(
    resource=resource(
        path="deploy_templates",
        plural="deploy_templates",
        model=DeployTemplate,
        fields=deploy_templates.FIELDS,
        list_default=deploy_templates.LIST_DEFAULT,
        missing=deploy_templates.missing,
        view=BaremetalView,
        any_marker=True,
    ),
    parameter="template_ident",
    by_name=True,
    schema=TEMPLATE_CREATE,
    body_name="template",
    do_create=lambda call, session, values: deploy_templates.create(session, values),
    do_update=lambda call, session, uuid, operations: deploy_templates.update(session, uuid, operations),
    do_delete=lambda call, session, uuid: deploy_templates.destroy(session, uuid),
)
