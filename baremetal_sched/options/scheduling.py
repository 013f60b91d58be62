"""Placement, and servers."""

from oslo_config import cfg

#: Stands for a user or a project where there is none.
ZERO_UUID = "00000000-0000-0000-0000-000000000000"

OPTIONS: dict[str, list[cfg.Opt]] = {
    "placement": [
        cfg.StrOpt(
            "incomplete_consumer_project_id",
            default=ZERO_UUID,
            help="Project of a consumer whose allocations were written below microversion 1.8.",
        ),
        cfg.StrOpt("incomplete_consumer_user_id", default=ZERO_UUID, help="Its user."),
        cfg.BoolOpt(
            "randomize_allocation_candidates",
            default=False,
            help="Answer with a random choice of candidates, in random order, instead of always the same ones.",
        ),
        cfg.IntOpt(
            "max_allocation_candidates",
            default=-1,
            min=-1,
            help="Stop looking after so many candidates, whatever the client's limit; -1: look on.",
        ),
        cfg.StrOpt(
            "allocation_candidates_generation_strategy",
            default="depth-first",
            choices=["depth-first", "breadth-first"],
            help="Take all candidates of a tree before those of the next, or one of each tree in turn.",
        ),
        cfg.FloatOpt(
            "candidates_time_limit",
            default=5,
            min=0,
            help="Seconds after which a search for candidates is stopped and answered with 503; 0: never.",
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
            help="Of more machines than this an explanation looks at those of the class that is asked for, or at a "
            "sample, and says so.",
        ),
        cfg.FloatOpt(
            "explain_time_limit",
            default=5,
            min=0,
            help="Seconds after which an explanation is stopped and answered with 503; 0: never.",
        ),
    ],
    "compute": [
        cfg.StrOpt(
            "default_availability_zone",
            default="nova",
            help="Name of the zone whose machines are those of the default conductor group.",
        ),
        cfg.IntOpt(
            "max_attempts",
            default=3,
            min=1,
            help="On how many nodes the deployment of a server is tried before the server is in error.",
        ),
        cfg.StrOpt(
            "project_id", default=ZERO_UUID, help="Project of servers and images while there is no authentication."
        ),
        cfg.StrOpt(
            "user_id", default=ZERO_UUID, help="User of servers and key pairs while there is no authentication."
        ),
    ],
}
