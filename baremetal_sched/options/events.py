"""Options of events."""

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "events": [
        cfg.BoolOpt(
            "enabled",
            default=True,
            help="Write an event for each change of machines, claims and holds (``/scheduling/v1/events``). All "
            "processes need the same value. A conductor that starts without it ends the stream: readers begin anew.",
        ),
        cfg.FloatOpt(
            "keep",
            default=7 * 24 * 3600,
            min=60,
            help="Seconds for which events are kept. A reader that was away for longer begins anew.",
        ),
    ],
}
