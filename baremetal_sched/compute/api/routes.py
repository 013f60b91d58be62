"""The compute API on one screen."""

from functools import partial
from typing import Literal

from baremetal_sched.compute.api import (
    availability_zones,
    flavors,
    images,
    instance_actions,
    keypairs,
    quota_sets,
    root,
    server_actions,
    server_groups,
    server_metadata,
    servers,
)
from baremetal_sched.compute.api.call import PREFIX
from baremetal_sched.compute.api.policies import name_of
from baremetal_sched.compute.schemas.flavors import DESCRIPTION_SINCE
from baremetal_sched.compute.schemas.servers import TAGS_SINCE
from baremetal_sched.web.responses import JSON
from baremetal_sched.web.route import Absence, Route, View, path_not_found

_FLAVOR = "/flavors/<flavor_id>"
_SPECS = f"{_FLAVOR}/os-extra_specs"
_QUOTAS = "/os-quota-sets/<project_id>"
_GROUP = "/os-server-groups/<group_id>"
_SERVER = "/servers/<server_id>"
_ACTIONS = f"{_SERVER}/os-instance-actions"
_METADATA = f"{_SERVER}/metadata"
_TAGS = f"{_SERVER}/tags"


Transaction = Literal["read", "select", "write"] | None


def route(
    method: str,
    path: str,
    view: View,
    policy: str,
    *,
    since: int = 0,
    transaction: Transaction = "write",
    takes: tuple[str, ...] = (),
    takes_query: bool = False,
    until: int | None = None,
    absent: Absence = path_not_found,
) -> Route:
    """A route below the version; ``policy`` is the name of the rule without the prefix."""
    return Route(
        method,
        PREFIX + path,
        view,
        since,
        transaction,
        policy=name_of(policy),
        takes=takes,
        refuses_query=not takes_query,
        until=until,
        absent=absent,
    )


get = partial(route, "GET", transaction="read")
#: A POST or PUT with a JSON body.
write = partial(route, takes=(JSON,))
remove = partial(route, "DELETE")
#: Of the images that this API once had.
get_image = partial(get, policy="images", until=images.LAST, absent=images.gone)


ROUTES = (
    Route("GET", "/", root.list_versions, transaction=None, public=True),
    Route("GET", PREFIX, root.show_version, transaction=None, public=True),
    Route("GET", f"{PREFIX}/", root.show_version, transaction=None, public=True),
    get("/extensions", root.list_extensions, "extensions", transaction=None),
    get("/extensions/<alias>", root.show_extension, "extensions", transaction=None),
    get("/flavors", flavors.list_flavors, "flavors", takes_query=True),
    write("POST", "/flavors", flavors.create_flavor, "os-flavor-manage:create"),
    get("/flavors/detail", flavors.list_details, "flavors", takes_query=True),
    get(_FLAVOR, flavors.show_flavor, "flavors"),
    write("PUT", _FLAVOR, flavors.update_flavor, "os-flavor-manage:update", since=DESCRIPTION_SINCE),
    remove(_FLAVOR, flavors.delete_flavor, "os-flavor-manage:delete"),
    get(_SPECS, flavors.list_specs, "os-flavor-extra-specs:index"),
    write("POST", _SPECS, flavors.create_specs, "os-flavor-extra-specs:create"),
    get(f"{_SPECS}/<key>", flavors.show_spec, "os-flavor-extra-specs:show"),
    write("PUT", f"{_SPECS}/<key>", flavors.update_spec, "os-flavor-extra-specs:update"),
    remove(f"{_SPECS}/<key>", flavors.delete_spec, "os-flavor-extra-specs:delete"),
    get(f"{_FLAVOR}/os-flavor-access", flavors.list_access, "os-flavor-access"),
    write("POST", f"{_FLAVOR}/action", flavors.act, "actions"),
    get_image("/images", images.list_images, takes_query=True),
    get_image("/images/detail", images.list_details, takes_query=True),
    get_image("/images/<image_id>", images.show_image),
    get("/os-keypairs", keypairs.list_keypairs, "os-keypairs:index", takes_query=True),
    write("POST", "/os-keypairs", keypairs.create_keypair, "os-keypairs:create"),
    get("/os-keypairs/<name>", keypairs.show_keypair, "os-keypairs:show", takes_query=True),
    remove("/os-keypairs/<name>", keypairs.delete_keypair, "os-keypairs:delete", takes_query=True),
    get("/os-availability-zone", availability_zones.list_summaries, "os-availability-zone:list"),
    get("/os-availability-zone/detail", availability_zones.list_details, "os-availability-zone:detail"),
    get("/limits", quota_sets.show_limits, "limits", takes_query=True),
    get(_QUOTAS, quota_sets.show_quotas, "os-quota-sets:show", transaction=None, takes_query=True),
    write("PUT", _QUOTAS, quota_sets.refuse_update, "os-quota-sets:update", takes_query=True),
    remove(_QUOTAS, quota_sets.delete_quotas, "os-quota-sets:delete", takes_query=True),
    get(f"{_QUOTAS}/defaults", quota_sets.show_defaults, "os-quota-sets:defaults", transaction=None),
    get(f"{_QUOTAS}/detail", quota_sets.show_details, "os-quota-sets:detail", takes_query=True),
    get("/os-server-groups", server_groups.list_groups, "os-server-groups:index", takes_query=True),
    write("POST", "/os-server-groups", server_groups.create_group, "os-server-groups:create"),
    get(_GROUP, server_groups.show_group, "os-server-groups:show"),
    remove(_GROUP, server_groups.delete_group, "os-server-groups:delete"),
    get("/servers", servers.list_servers, "servers:index", transaction="select", takes_query=True),
    write("POST", "/servers", servers.create_servers, "servers:create"),
    get("/servers/detail", servers.list_details, "servers:detail", transaction="select", takes_query=True),
    get(_SERVER, servers.show_server, "servers:show", transaction="select"),
    write("PUT", _SERVER, servers.update_server, "servers:update"),
    remove(_SERVER, servers.delete_server, "servers:delete"),
    write("POST", f"{_SERVER}/action", server_actions.act, "actions"),
    get(_ACTIONS, instance_actions.list_actions, "os-instance-actions:list", takes_query=True),
    get(f"{_ACTIONS}/<request_id>", instance_actions.show_action, "os-instance-actions:show"),
    get(f"{_SERVER}/ips", server_metadata.list_addresses, "ips:index", transaction="select", takes_query=True),
    get(f"{_SERVER}/ips/<network>", server_metadata.show_network, "ips:show", transaction="select", takes_query=True),
    get(f"{_SERVER}/os-security-groups", server_metadata.list_security_groups, "os-security-groups:list"),
    get(_METADATA, server_metadata.list_metadata, "server-metadata:index"),
    write("POST", _METADATA, server_metadata.add_metadata, "server-metadata:create"),
    write("PUT", _METADATA, server_metadata.replace_metadata, "server-metadata:update_all"),
    get(f"{_METADATA}/<key>", server_metadata.show_item, "server-metadata:show"),
    write("PUT", f"{_METADATA}/<key>", server_metadata.set_item, "server-metadata:update"),
    remove(f"{_METADATA}/<key>", server_metadata.delete_item, "server-metadata:delete"),
    get(_TAGS, server_metadata.list_tags, "os-server-tags:index", since=TAGS_SINCE),
    write("PUT", _TAGS, server_metadata.replace_tags, "os-server-tags:update_all", since=TAGS_SINCE),
    remove(_TAGS, server_metadata.delete_tags, "os-server-tags:delete_all", since=TAGS_SINCE),
    get(f"{_TAGS}/<tag>", server_metadata.show_tag, "os-server-tags:show", since=TAGS_SINCE),
    # A single tag has no body.
    route("PUT", f"{_TAGS}/<tag>", server_metadata.add_tag, "os-server-tags:update", since=TAGS_SINCE),
    remove(f"{_TAGS}/<tag>", server_metadata.delete_tag, "os-server-tags:delete", since=TAGS_SINCE),
)
