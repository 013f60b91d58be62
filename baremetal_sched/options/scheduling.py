"""Options of Placement, explanations and servers."""

from oslo_config import cfg, types

from baremetal_sched.options import kinds

#: Stands for a missing user or project.
ZERO_UUID = "00000000-0000-0000-0000-000000000000"

OPTIONS: dict[str, list[cfg.Opt]] = {
    "placement": [
        cfg.Opt(
            "incomplete_consumer_project_id",
            type=kinds.at_most(255),
            default=ZERO_UUID,
            help="Project of a consumer whose allocations were written below microversion 1.8.",
        ),
        cfg.Opt(
            "incomplete_consumer_user_id",
            type=kinds.at_most(255),
            default=ZERO_UUID,
            help="User of such a consumer.",
        ),
        cfg.BoolOpt(
            "randomize_allocation_candidates",
            default=False,
            help="Answer with a random choice of candidates, in random order, instead of always the same ones. This "
            "avoids conflicts between clients that all take the first candidate.",
        ),
        cfg.IntOpt(
            "max_allocation_candidates",
            default=-1,
            min=-1,
            help="The maximum number of candidates that a search returns, whatever the client's limit; -1: no limit.",
        ),
        cfg.StrOpt(
            "allocation_candidates_generation_strategy",
            default="depth-first",
            choices=["depth-first", "breadth-first"],
            help="``depth-first``: all candidates of a tree before those of the next; ``breadth-first``: one of each "
            "tree in turn.",
        ),
        cfg.FloatOpt(
            "candidates_time_limit",
            default=5,
            min=0,
            help="Seconds after which a search for candidates is stopped; 0: never. The answer is then 503, and says "
            "how to narrow the request: typical causes are many request groups for the same resource classes, or "
            "no limit where providers can be combined in many ways.",
        ),
        cfg.BoolOpt(
            "candidates_fast_path",
            default=True,
            help="Answer requests for one resource class by one statement, where no provider has a parent. Without it "
            "every request takes the general search: the answers are the same, and take longer. Switch it off to "
            "find out whether it is the cause of a wrong answer.",
        ),
    ],
    "scheduling": [
        cfg.IntOpt(
            "explain_max_nodes",
            default=50_000,
            min=1,
            help="If there are more machines than this, an explanation (``/scheduling/v1/explanations``) examines "
            "only machines of the requested class, or a sample, and says so.",
        ),
        cfg.FloatOpt(
            "explain_time_limit",
            default=5,
            min=0,
            help="Seconds after which an explanation is stopped and answered with 503; 0: never.",
        ),
        cfg.IntOpt(
            "max_wait",
            default=7 * 24 * 3600,
            min=1,
            help="The greatest number of seconds for which a claim may wait until a machine is free.",
        ),
        cfg.IntOpt(
            "most_waiting",
            default=1000,
            min=0,
            help="The greatest number of claims of one project that wait at the same time; 0: nothing may wait.",
        ),
        cfg.IntOpt(
            "most_tested",
            default=50,
            min=1,
            help="The number of different waiting requests that are tested when a machine becomes free, before the "
            "transaction that freed it commits; after the commit, as many different requests for several machines are "
            "counted. Projects take turns. If none of these requests fits, but others may, the next sweep hands the "
            "machine over.",
        ),
        cfg.FloatOpt(
            "sweep_interval",
            default=5,
            min=0,
            help="Seconds between two sweeps of a conductor, which end claims whose deadline has passed, hand free "
            "machines to the waiting claims that they fit, and give machines back at the ends of claims; 0: never.",
        ),
        cfg.FloatOpt(
            "withhold_before_windows",
            default=0,
            min=0,
            help="Seconds before the planned start of a hold during which its machine can no longer be claimed, so "
            "that no consumer gets it for a moment only. A change of this option affects holds that are asserted or "
            "released afterwards.",
        ),
        cfg.FloatOpt(
            "sweep_holds_interval",
            default=5,
            min=0.1,
            max=60,
            help="Seconds between two sweeps of a conductor over holds: the maintenance flag follows the planned time "
            "within this time. Claims are refused from the planned start on, whether a conductor runs or not.",
        ),
        cfg.FloatOpt(
            "shortest_claim",
            default=60,
            min=0,
            help="A claim that has an end stops waiting this many seconds before it: nobody gets a machine for less.",
        ),
        cfg.FloatOpt(
            "default_claim",
            default=0,
            min=0,
            help="Seconds for which a claim, a server or an allocation has its machine if its request names no end; "
            "0: without end. Only callers with ``scheduling:claims:set_end_all`` may then ask for none.",
        ),
        cfg.FloatOpt(
            "longest_claim",
            default=0,
            min=0,
            help="The greatest number of seconds from the moment of a request to the end that it sets; 0: no limit. "
            "Callers with ``scheduling:claims:set_end_all`` are not bound by this.",
        ),
        cfg.FloatOpt(
            "longest_in_all",
            default=0,
            min=0,
            help="The greatest number of seconds from the moment at which a consumer has got its machine to its end, "
            "however often the end is moved; 0: no limit. Callers with ``scheduling:claims:set_end_all`` are not bound "
            "by this.",
        ),
        cfg.BoolOpt(
            "prolong_while_others_wait",
            default=True,
            help="Whether an end may be moved later while a request waits that may fit the machine. Callers with "
            "``scheduling:claims:set_end_all`` are not bound by this.",
        ),
        cfg.BoolOpt(
            "ends_respect_protected",
            default=False,
            help="Whether a node that is ``protected`` stays in use after the end of its claim, until it is no longer "
            "protected. The claim is late then.",
        ),
        cfg.ListOpt(
            "tell_before",
            item_type=types.Float(min=1),
            default=[86400, 3600],
            help="Seconds before the end of a claim at which the event ``scheduling.claim.ends_soon`` tells of it.",
        ),
        cfg.FloatOpt(
            "turnaround",
            default=3600,
            min=0,
            help="Seconds that a machine is expected to need after a claim until it is available again. Explanations "
            "and the capacity at a later moment use it.",
        ),
        cfg.Opt(
            "turnaround_of",
            type=types.Dict(value_type=types.Float(min=0)),
            default={},
            help="The same for machines of some resource classes: ``gold:7200,silver:600``, by the nodes' classes.",
        ),
        cfg.FloatOpt(
            "notice",
            default=86_400,
            min=0,
            help="The least number of seconds from now to the start of a booking. One that starts now is accepted if "
            "its machines are free, and nobody waits for them. Callers with ``scheduling:bookings:create_all`` are "
            "bound by none of the limits of bookings.",
        ),
        cfg.FloatOpt(
            "most_booked",
            default=0.5,
            min=0,
            max=1,
            help="The greatest share of the machines of a class that may be booked at any moment, of those that can "
            "be used.",
        ),
        cfg.IntOpt(
            "most_bookings",
            default=10,
            min=0,
            help="The greatest number of bookings of a project that are planned or running; 0: it may book nothing.",
        ),
        cfg.FloatOpt(
            "longest_booking",
            default=14 * 86_400,
            min=0,
            help="The greatest number of seconds from the start of a booking to its end; 0: no limit.",
        ),
        cfg.FloatOpt(
            "furthest_booking",
            default=90 * 86_400,
            min=0,
            help="The greatest number of seconds from now to the end of a booking; 0: no limit.",
        ),
        cfg.FloatOpt(
            "booked_hours",
            default=0,
            min=0,
            help="The greatest number of hours of machines that a project may have in bookings that are planned or "
            "running; 0: no limit.",
        ),
        cfg.FloatOpt(
            "no_show",
            default=6 * 3600,
            min=0,
            help="A machine of a booking is given up this many seconds after it could be claimed, if nobody has "
            "claimed it under the booking; 0: never.",
        ),
        cfg.StrOpt(
            "gather",
            default="off",
            choices=["off", "ends", "all"],
            help="Whether the first request for several machines that waits gets a plan. ``ends``: machines are kept "
            "for it from newcomers that do not end before its planned start, which follows from the ends of claims. "
            "``all``: machines that are freed are kept for it, too, if ends are not known.",
        ),
        cfg.FloatOpt(
            "gather_ahead",
            default=86_400,
            min=0,
            help="A request gets a plan if its planned start is at most this many seconds from now.",
        ),
        cfg.FloatOpt(
            "gather_at_most",
            default=3600,
            min=0,
            help="With ``gather = all``, machines that were freed are kept for a request for at most this many "
            "seconds.",
        ),
        cfg.IntOpt(
            "most_polls",
            default=24,
            min=0,
            help="The greatest number of requests of one process that wait at the same time until a claim is decided "
            "(``GET /scheduling/v1/claims/{uuid}?wait=30``), at most half of them of one project. Further ones are "
            "answered at once with the present state and ``Retry-After``. Requests that wait in this way also count "
            "towards ``[api] max_requests_waiting``, and should leave room for others.",
        ),
    ],
    "quota": [
        cfg.IntOpt(
            "server_groups",
            default=-1,
            min=-1,
            help="The greatest number of server groups of a project; -1: no limit. Existing server groups stay.",
        ),
        cfg.IntOpt(
            "server_group_members",
            default=-1,
            min=-1,
            help="The greatest number of servers in a server group, whatever their state; -1: no limit. Existing "
            "servers stay.",
        ),
    ],
    "compute": [
        cfg.Opt(
            "default_availability_zone",
            type=kinds.ZONE,
            default="nova",
            help="Name of the availability zone whose machines are those of the default conductor group. Every other "
            "conductor group is a zone of its own name.",
        ),
        cfg.IntOpt(
            "max_attempts",
            default=3,
            min=1,
            help="The number of nodes on which the deployment of a server is tried before the server is in error.",
        ),
        cfg.IntOpt(
            "wait_for_machine",
            default=0,
            min=0,
            help="Seconds for which a server that is requested alone, by a flavor with a custom resource class, waits "
            "until a machine is free; 0: without one it is in error at once. The scheduler hint ``wait`` of a request "
            "overrides it. ``[scheduling] max_wait`` limits it.",
        ),
        cfg.Opt(
            "server_group_level",
            type=kinds.OPTIONAL_LEVEL,
            default="",
            help="Level of the domains, such as ``rack``, by which the servers of a server group are kept apart or "
            'together: the "host" of its policy is a domain of this level. Empty: it is the machine, so '
            "``anti-affinity`` is always met, and a second server of ``affinity`` is refused. All processes need the "
            "same value.",
        ),
        cfg.Opt(
            "project_id",
            type=kinds.at_most(255),
            default=ZERO_UUID,
            help="Project of callers of the compute and image APIs while there is no authentication (``[api] "
            "auth_strategy`` is ``none``), and of users of ``http_basic`` who are ``admin`` for the system.",
        ),
        cfg.Opt("user_id", type=kinds.at_most(255), default=ZERO_UUID, help="User of these callers."),
    ],
}
