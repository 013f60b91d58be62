"""The fake hardware."""

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "fake": [
        cfg.FloatOpt(f"{kind}_delay", default=0, min=0, help=f"Seconds that {what} takes.")
        for kind, what in (
            ("power", "a fake power action"),
            ("bios", "a step of the fake bios interface"),
            ("boot", "preparing a boot with the fake boot interface"),
            ("deploy", "a fake deployment, or taking one away,"),
            ("firmware", "a fake firmware update"),
            ("inspect", "a fake inspection"),
            ("rescue", "a fake rescue, or its end,"),
            ("storage", "attaching or detaching volumes with the fake storage interface"),
            ("vendor", "a step or an asynchronous method of the fake vendor interface"),
        )
    ],
}
