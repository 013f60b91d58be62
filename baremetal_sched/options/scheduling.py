"""Options of Placement, explanations and servers."""

from oslo_config import cfg

#: Stands for a missing user or project.
ZERO_UUID = "00000000-0000-0000-0000-000000000000"

OPTIONS: dict[str, list[cfg.Opt]] = {
    "placement": [
        cfg.StrOpt(
            "incomplete_consumer_project_id",
            default=ZERO_UUID,
            help="Project of consumers whose allocations were written with a microversion below 1.8.",
        ),
        cfg.StrOpt("incomplete_consumer_user_id", default=ZERO_UUID, help="Its user."),
        cfg.BoolOpt(
            "randomize_allocation_candidates",
            default=False,
            help="Return candidates chosen at random and in random order, instead of always the same ones.",
        ),
        cfg.IntOpt(
            "max_allocation_candidates",
            default=-1,
            min=-1,
            help="Stop the search after this number of candidates, even if the client's limit is higher; -1: never.",
        ),
        cfg.StrOpt(
            "allocation_candidates_generation_strategy",
            default="depth-first",
            choices=["depth-first", "breadth-first"],
            help="Return all candidates of a tree before those of the next, or one of each tree in turn.",
        ),
        cfg.FloatOpt(
            "candidates_time_limit",
            default=5,
            min=0,
            help="Seconds after which a search for candidates is stopped and answered with 503; 0: no limit.",
        ),
        cfg.BoolOpt(
            "candidates_fast_path",
            default=True,
            help="Answer requests for one resource class by one statement; the answers are the same without it.",
        ),
    ],
    "scheduling": [
        cfg.IntOpt(
            "explain_max_nodes",
            default=50_000,
            min=1,
            help="With more nodes than this, an explanation examines those of the requested class or a sample, and "
            "says so.",
        ),
        cfg.FloatOpt(
            "explain_time_limit",
            default=5,
            min=0,
            help="Seconds after which an explanation is stopped and answered with 503; 0: no limit.",
        ),
    ],
    "compute": [
        cfg.StrOpt(
            "default_availability_zone",
            default="nova",
            help="Name of the availability zone that stands for the default conductor group.",
        ),
        cfg.IntOpt(
            "max_attempts",
            default=3,
            min=1,
            help="Number of nodes on which the deployment of a server is tried before the server goes to ERROR.",
        ),
        cfg.StrOpt(
            "project_id", default=ZERO_UUID, help="Project of servers and images if authentication is disabled."
        ),
        cfg.StrOpt("user_id", default=ZERO_UUID, help="User of servers and key pairs if authentication is disabled."),
    ],
}
