"""Starting data for each gabbi fixture name, built only with the public API.

Every upstream gabbi file names one fixture.  Here a fixture is two facts:

* the *flavour* of server it needs (see FLAVOURS), and
* a function that creates rows over HTTP and fills in the environment
  variables that the YAML refers to as $ENVIRON['...'].

Nothing here imports placement.
"""

import uuid

ZERO_UUID = "00000000-0000-0000-0000-000000000000"

# Policy names that an operator may override.  Used to write the wide-open
# policy file; the values are rule strings in oslo.policy syntax.
POLICY_NAMES = (
    [f"placement:resource_providers:{v}" for v in ("list", "create", "show", "update", "delete", "usages")]
    + [f"placement:resource_providers:inventories:{v}" for v in ("list", "create", "show", "update", "delete")]
    + [f"placement:resource_providers:aggregates:{v}" for v in ("list", "update")]
    + [f"placement:resource_providers:traits:{v}" for v in ("list", "update", "delete")]
    + ["placement:resource_providers:allocations:list"]
    + [f"placement:resource_classes:{v}" for v in ("list", "create", "show", "update", "delete")]
    + [f"placement:traits:{v}" for v in ("list", "show", "update", "delete")]
    + [f"placement:allocations:{v}" for v in ("list", "manage", "update", "delete")]
    + ["placement:allocation_candidates:list", "placement:usages", "placement:reshaper:reshape"]
)

_BASE = {
    "auth_strategy": "noauth2",
    "enforce_new_defaults": False,
    "policy_rules": {},
    "cors_allowed_origin": "",
    "cors_allow_headers": "",
    "incomplete_consumer_project_id": ZERO_UUID,
    "incomplete_consumer_user_id": ZERO_UUID,
}

FLAVOURS = {
    # the default: deprecated (pre-secure-RBAC) rules, no CORS
    "legacy": dict(_BASE),
    # new default rules only
    "secure": dict(_BASE, enforce_new_defaults=True),
    # every API rule overridden to "anybody"
    "open": dict(_BASE, policy_rules=dict.fromkeys(POLICY_NAMES, "@")),
    # CORS switched on
    "cors": dict(_BASE, cors_allowed_origin="http://valid.example.com", cors_allow_headers="openstack-api-version"),
}


class SeedError(Exception):
    """The server under test refused a request needed to build the data."""


def new_uuid():
    return str(uuid.uuid4())


def common_env():
    """Variables every gabbi file may use, whatever its fixture."""
    env = {
        name: new_uuid()
        for name in (
            "RP_UUID",
            "RP_NAME",
            "RP_UUID1",
            "RP_NAME1",
            "RP_UUID2",
            "RP_NAME2",
            "PROJECT_ID",
            "ADMIN_PROJECT_ID",
            "SERVICE_PROJECT_ID",
            "USER_ID",
            "PROJECT_ID_ALT",
            "USER_ID_ALT",
            "INSTANCE_UUID",
            "MIGRATION_UUID",
            "CONSUMER_UUID",
            "PARENT_PROVIDER_UUID",
            "ALT_PARENT_PROVIDER_UUID",
        )
    }
    for suffix in ("", "1", "2"):
        env["CUSTOM_RES_CLASS" + suffix] = "CUSTOM_IRON_NFV" + suffix
    return env


class World:
    """Creates entities through a REST client and remembers generations.

    `client` is an httpx.Client whose base_url is the service root.
    """

    def __init__(self, client, token, env):
        self._client = client
        self._token = token
        self.env = env
        self._generation = {}
        self._known = set()

    def call(self, method, path, body=None, version="1.36"):
        headers = {
            "x-auth-token": self._token,
            "accept": "application/json",
            "openstack-api-version": "placement " + version,
        }
        reply = self._client.request(method, path, json=body, headers=headers)
        if reply.status_code >= 300:
            raise SeedError("%s %s (%s) gave %d: %s" % (method, path, version, reply.status_code, reply.text[:400]))
        return reply

    def resource_class(self, name):
        if name.startswith("CUSTOM_") and name not in self._known:
            self.call("PUT", "/resource_classes/" + name)
            self._known.add(name)

    def trait(self, name):
        if name.startswith("CUSTOM_") and name not in self._known:
            self.call("PUT", "/traits/" + name)
            self._known.add(name)

    def aggregates(self, rp, uuids):
        # The list form (before 1.19) leaves the provider generation alone.
        self.call("PUT", f"/resource_providers/{rp}/aggregates", list(uuids), version="1.18")

    def inventory(self, rp, resource_class, total, **extra):
        # One POST per class: each adds exactly one to the generation.
        self.resource_class(resource_class)
        body = {"resource_class": resource_class, "total": total, "max_unit": total}
        body.update(extra)
        self.call("POST", f"/resource_providers/{rp}/inventories", body)
        self._generation[rp] += 1

    def traits(self, rp, names):
        for name in names:
            self.trait(name)
        self.call(
            "PUT",
            f"/resource_providers/{rp}/traits",
            {"traits": list(names), "resource_provider_generation": self._generation[rp]},
        )
        self._generation[rp] += 1

    def provider(self, name, parent=None, uuid=None, aggs=(), inv=None, traits=(), env=None):
        rp = uuid or new_uuid()
        body = {"name": name, "uuid": rp}
        if parent:
            body["parent_provider_uuid"] = parent
        self.call("POST", "/resource_providers", body)
        self._generation[rp] = 0
        if aggs:
            self.aggregates(rp, aggs)
        for resource_class, spec in (inv or {}).items():
            if isinstance(spec, dict):
                spec = dict(spec)
                self.inventory(rp, resource_class, spec.pop("total"), **spec)
            else:
                self.inventory(rp, resource_class, spec)
        if traits:
            self.traits(rp, traits)
        if env:
            self.env[env] = rp
        return rp

    def allocate(self, rp, resources, project, user):
        # 1.28 keeps the consumer type unset, as old consumers have it.
        consumer = new_uuid()
        self.call(
            "PUT",
            "/allocations/" + consumer,
            {
                "allocations": {rp: {"resources": resources}},
                "project_id": project,
                "user_id": user,
                "consumer_generation": None,
            },
            version="1.28",
        )
        self._generation[rp] += 1
        return consumer


SHARES = "MISC_SHARES_VIA_AGGREGATE"


def seed_nothing(world):
    pass


def seed_allocations(world):
    """One provider, three consumers; two of them belong to one user."""
    env = world.env
    for name in ("ALT_USER_ID", "ALT_RP_UUID", "ALT_RP_NAME"):
        env[name] = new_uuid()
    rp = world.provider(
        env["RP_NAME"],
        uuid=env["RP_UUID"],
        inv={"DISK_GB": {"total": 2048, "step_size": 10, "min_unit": 10, "max_unit": 1000}, "VCPU": 10},
    )
    project, user = env["PROJECT_ID"], env["USER_ID"]
    env["CONSUMER_0"] = world.allocate(rp, {"DISK_GB": 1000}, project, user)
    env["CONSUMER_ID"] = world.allocate(rp, {"VCPU": 6}, project, user)
    env["ALT_CONSUMER_ID"] = world.allocate(rp, {"DISK_GB": 20, "VCPU": 1}, project, env["ALT_USER_ID"])


def seed_shared_storage(world):
    """Two hosts with two-level subtrees plus two shared disk pools."""
    agg = world.env["AGG_UUID"] = new_uuid()
    cpu = {"VCPU": {"total": 24, "allocation_ratio": 16.0}, "MEMORY_MB": {"total": 131072, "allocation_ratio": 1.5}}
    disk = {"DISK_GB": {"total": 2000, "reserved": 100, "allocation_ratio": 1.0}}
    hosts = {
        1: world.provider("cn1", aggs=[agg], inv=cpu, env="CN1_UUID", traits=["HW_CPU_X86_SSE", "HW_CPU_X86_SSE2"]),
        2: world.provider("cn2", aggs=[agg], inv={**cpu, **disk}, env="CN2_UUID"),
    }
    for name, var in (("ss", "SS_UUID"), ("ss2", "SS2_UUID")):
        world.provider(name, aggs=[agg], inv=disk, traits=[SHARES], env=var)
    for h, host in hosts.items():
        for n in (1, 2):
            tag = "%d_%d" % (h, n)
            numa = world.provider("numa" + tag, parent=host, env=f"NUMA{tag}_UUID")
            world.provider(
                "pf" + tag,
                parent=numa,
                env=f"PF{tag}_UUID",
                inv={"SRIOV_NET_VF": {"total": 8, "allocation_ratio": 1.0}},
            )


def seed_numa_aggregate(world):
    """Bare hosts with CPU on NUMA children; one child has its own pool."""
    a, b, c = (new_uuid() for _ in range(3))
    world.env.update(AGGA_UUID=a, AGGB_UUID=b, AGGC_UUID=c)
    hosts = {1: world.provider("cn1", aggs=[a], env="CN1_UUID"), 2: world.provider("cn2", aggs=[a, b], env="CN2_UUID")}
    for n, agg in ((1, a), (2, c)):
        world.provider(
            "ss%d" % n,
            aggs=[agg],
            traits=[SHARES],
            inv={"DISK_GB": {"total": 2000, "reserved": 100, "allocation_ratio": 1.0}},
            env="SS%d_UUID" % n,
        )
    for h, host in hosts.items():
        for n in (1, 2):
            tag = "%d_%d" % (h, n)
            world.provider(
                "numa" + tag,
                parent=host,
                aggs=[c] if tag == "1_1" else (),
                inv={"VCPU": {"total": 24, "allocation_ratio": 16.0}},
                env=f"NUMA{tag}_UUID",
            )


def _numa_network(world, above1=None, above2=None):
    agg = world.env["AGGA_UUID"] = new_uuid()
    project, user = "numafx-project", "numafx-user"
    world.provider("ss1", aggs=[agg], traits=[SHARES], inv={"DISK_GB": 2000}, env="SS1_UUID")

    # First host: nothing on the root, everything on descendants.
    cn1 = world.provider("cn1", parent=above1, aggs=[agg], env="CN1_UUID", traits=["COMPUTE_VOLUME_MULTI_ATTACH"])
    numa0 = world.provider(
        "numa0",
        parent=cn1,
        env="NUMA0_UUID",
        traits=["HW_NUMA_ROOT"],
        inv={"VCPU": 4, "MEMORY_MB": {"total": 2048, "min_unit": 512, "step_size": 256}},
    )
    numa1 = world.provider(
        "numa1",
        parent=cn1,
        env="NUMA1_UUID",
        traits=["HW_NUMA_ROOT", "CUSTOM_FOO"],
        inv={"VCPU": 4, "MEMORY_MB": {"total": 2048, "min_unit": 256, "max_unit": 1024}},
    )
    world.allocate(numa0, {"VCPU": 2}, project, user)
    world.provider("fpga0", parent=numa0, inv={"FPGA": 1}, env="FPGA0_UUID")
    world.provider("pgpu0", parent=numa0, inv={"VGPU": 8}, env="PGPU0_UUID")
    for n in (0, 1):
        world.provider("fpga1_%d" % n, parent=numa1, inv={"FPGA": 1}, env="FPGA1_%d_UUID" % n)
    sriov = world.provider("sriov_agent", parent=cn1, env="SRIOV_AGENT_UUID", traits=["CUSTOM_VNIC_TYPE_DIRECT"])
    for n in (1, 2):
        world.provider(
            "esn%d" % n,
            parent=sriov,
            env="ESN%d_UUID" % n,
            traits=["CUSTOM_PHYSNET%d" % n],
            inv={"NET_BW_EGR_KILOBIT_PER_SEC": 10000 * n},
        )
    ovs = world.provider("ovs_agent", parent=cn1, env="OVS_AGENT_UUID", traits=["CUSTOM_VNIC_TYPE_NORMAL"])
    world.provider(
        "br_int", parent=ovs, env="BR_INT_UUID", traits=["CUSTOM_PHYSNET0"], inv={"NET_BW_EGR_KILOBIT_PER_SEC": 1000}
    )

    # Second host: resources on the root, network functions two levels down.
    cn2 = world.provider(
        "cn2",
        parent=above2,
        aggs=[agg],
        env="CN2_UUID",
        traits=["CUSTOM_FOO"],
        inv={"VCPU": 8, "MEMORY_MB": {"total": 2048, "min_unit": 1024, "step_size": 128}, "DISK_GB": 1000},
    )
    world.allocate(cn2, {"VCPU": 3}, project, user)
    # nic -> list of (physical network number, virtual function count)
    functions = {1: [(1, 4), (2, 4)], 2: [(1, 2), (2, 2), (1, 2), (2, 2)], 3: [(1, 8)]}
    for nic, pfs in functions.items():
        parent = world.provider("nic%d" % nic, parent=cn2, env="NIC%d_UUID" % nic, traits=["CUSTOM_HW_NIC_ROOT"])
        for n, (net, count) in enumerate(pfs, 1):
            world.provider(
                "pf%d_%d" % (nic, n),
                parent=parent,
                env="PF%d_%d_UUID" % (nic, n),
                traits=["CUSTOM_PHYSNET%d" % net],
                inv={"CUSTOM_VF": count},
            )


def seed_numa_network(world):
    _numa_network(world)


def seed_deep_numa_network(world):
    """Same two hosts, now grandchildren of a single empty root."""
    top = world.provider("gp1")
    _numa_network(world, above1=world.provider("p1", parent=top), above2=world.provider("p2", parent=top))


def seed_local_storage(world):
    """Three flat hosts; the aggregates exist only as names."""
    for letter in "ABC":
        world.env[f"AGG{letter}_UUID"] = new_uuid()
    for n in (1, 2, 3):
        world.provider("cn%d" % n, env="CN%d_UUID" % n, inv={"VCPU": 24, "MEMORY_MB": 131072, "DISK_GB": 2000})


def seed_granular(world):
    """Three flat hosts and three sharing providers over three aggregates."""
    a, b, c = (new_uuid() for _ in range(3))
    world.env.update(AGGA=a, AGGB=b, AGGC=c)
    world.resource_class("CUSTOM_NET_MBPS")
    world.provider(
        "cn_left",
        aggs=[a],
        env="CN_LEFT",
        inv={"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 500, "VGPU": 8, "SRIOV_NET_VF": 8, "CUSTOM_NET_MBPS": 4000},
        traits=["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_GPU_API_DXVA", "HW_NIC_DCB_PFC", "CUSTOM_FOO"],
    )
    world.provider(
        "cn_middle",
        aggs=[a, b],
        env="CN_MIDDLE",
        inv={"VCPU": 8, "MEMORY_MB": 4096, "SRIOV_NET_VF": 8, "CUSTOM_NET_MBPS": 4000},
        traits=["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_CPU_X86_SSE", "HW_NIC_ACCEL_TLS"],
    )
    world.provider(
        "cn_right",
        aggs=[b, c],
        env="CN_RIGHT",
        inv={"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 500, "VGPU": {"total": 8, "max_unit": 2}},
        traits=["HW_CPU_X86_MMX", "HW_GPU_API_DXVA", "CUSTOM_DISK_SSD"],
    )
    world.provider("shr_disk_1", aggs=[a], env="SHR_DISK_1", inv={"DISK_GB": 1000}, traits=[SHARES, "CUSTOM_DISK_SSD"])
    world.provider("shr_disk_2", aggs=[a, b], env="SHR_DISK_2", inv={"DISK_GB": 1000}, traits=[SHARES])
    world.provider(
        "shr_net", aggs=[c], env="SHR_NET", traits=[SHARES], inv={"SRIOV_NET_VF": 16, "CUSTOM_NET_MBPS": 40000}
    )


def seed_qos_multi_segment(world):
    """Four hosts with bandwidth subtrees on different network segments."""
    direct = ["CUSTOM_VNIC_TYPE_DIRECT", "CUSTOM_VNIC_TYPE_DIRECT_PHYSICAL", "CUSTOM_VNIC_TYPE_MACVTAP"]
    normal = ["CUSTOM_VNIC_TYPE_NORMAL"]

    def bandwidth(kbit):
        return {"NET_BW_EGR_KILOBIT_PER_SEC": kbit, "NET_BW_IGR_KILOBIT_PER_SEC": kbit}

    # host -> segments reachable, kbit/s on a bridge, kbit/s on a function
    layout = {
        0: (["OTHER"], 5000, 10000),
        1: (["MSN_S1"], 5000, 10000),
        2: (["MSN_S2"], 5000, 10000),
        3: (["MSN_S1", "MSN_S2"], 1000, 1000),
    }
    for n, (segments, bridge_kbit, function_kbit) in layout.items():
        tag = "compute%d" % n
        host = world.provider(tag, env=tag, inv={"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 500})
        ovs_name = tag + ":Open vSwitch agent"
        ovs = world.provider(
            ovs_name,
            parent=host,
            env=tag + ":ovs_agent",
            traits=normal,
            inv={"NET_PACKET_RATE_KILOPACKET_PER_SEC": 1000},
        )
        nic_name = tag + ":NIC Switch agent"
        nic = world.provider(nic_name, parent=host, traits=direct, env=tag + ":sriov_agent")
        for i, segment in enumerate(segments):
            physnet = ["CUSTOM_PHYSNET_" + segment]
            nth = "" if i == 0 else str(i + 1)
            world.provider(
                f"{ovs_name}:br-ex{nth}",
                parent=ovs,
                env=f"{tag}:br_ex{nth}",
                inv=bandwidth(bridge_kbit),
                traits=normal + physnet,
            )
            world.provider(
                "%s:enp129s0f%d" % (nic_name, i),
                parent=nic,
                env="%s:pf%d" % (tag, i),
                inv=bandwidth(function_kbit),
                traits=direct + physnet,
            )


# fixture name in the YAML -> (server flavour, seeding function)
FIXTURES = {
    "APIFixture": ("legacy", seed_nothing),
    "LegacyRBACPolicyFixture": ("legacy", seed_nothing),
    "SecureRBACPolicyFixture": ("secure", seed_nothing),
    "OpenPolicyFixture": ("open", seed_nothing),
    "CORSFixture": ("cors", seed_nothing),
    "AllocationFixture": ("legacy", seed_allocations),
    "SharedStorageFixture": ("legacy", seed_shared_storage),
    "NonSharedStorageFixture": ("legacy", seed_local_storage),
    "NUMAAggregateFixture": ("legacy", seed_numa_aggregate),
    "NUMANetworkFixture": ("legacy", seed_numa_network),
    "DeepNUMANetworkFixture": ("legacy", seed_deep_numa_network),
    "GranularFixture": ("legacy", seed_granular),
    "NeutronQoSMultiSegmentFixture": ("legacy", seed_qos_multi_segment),
}
