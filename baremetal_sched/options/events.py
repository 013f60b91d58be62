"""Options of events and webhooks."""

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "events": [
        cfg.BoolOpt(
            "enabled",
            default=True,
            help="Write an event for each change of machines, claims and holds (``/scheduling/v1/events``). All "
            "processes need the same value. A conductor that starts without it ends the stream: readers begin anew. It "
            "asks once a minute, and not every second, for events and webhooks that were left over.",
        ),
        cfg.FloatOpt(
            "keep",
            default=7 * 24 * 3600,
            min=60,
            help="Seconds for which events are kept. A reader that was away for longer begins anew.",
        ),
        cfg.ListOpt(
            "allowed_hosts",
            default=[],
            help="To which hosts webhooks may send events: names (``hooks.example.com``, ``*.example.com``), "
            "addresses and networks, and the word ``public``, which stands for all public addresses by HTTPS. If the "
            "list is empty, these may be called; if not, only hosts in the list, by HTTP as well. A name in the list "
            "may resolve to private addresses. Link-local addresses, loopback addresses, and addresses that are not "
            "those of a single machine are refused unless an address or a network in the list contains them, even if "
            "a name resolves to them. A name is resolved once for each delivery, and the connection is made to the "
            "address that was checked.",
        ),
        cfg.StrOpt(
            "cafile",
            help="File or folder with the certificates of authorities by which receivers of webhooks are known. "
            "Default: those of the system.",
        ),
        cfg.IntOpt("most_webhooks", default=20, min=0, help="The greatest number of webhooks of one project; 0: none."),
        cfg.FloatOpt(
            "webhooks_interval",
            default=1,
            min=0,
            help="Seconds between two looks of a conductor for events that are due to webhooks, and for tests of them; "
            "0: this conductor sends none. At rest the look for events without a number, once a second, is the same "
            "statement.",
        ),
        cfg.IntOpt(
            "webhook_threads",
            default=32,
            min=2,
            help="The greatest number of webhooks to which a conductor sends events at the same time. At most half of "
            "them are of one project, or of no project, and a project that has one leaves a quarter to projects that "
            "have none. Receivers whose last answer took more than a second have a quarter, at least one, and take "
            "turns after each event; others after ten seconds.",
        ),
    ],
}
