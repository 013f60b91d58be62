"""Options of the fake hardware."""

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "fake": [
        cfg.FloatOpt(f"{kind}_delay", default=0, min=0, help=f"Duration of {what}, in seconds.")
        for kind, what in (
            ("power", "a fake power action"),
            ("bios", "a step of the fake bios interface"),
            ("boot", "the preparation of a boot by the fake boot interface"),
            ("deploy", "a fake deployment or its removal"),
            ("firmware", "a fake firmware update"),
            ("inspect", "a fake inspection"),
            ("rescue", "a fake rescue or unrescue"),
            ("storage", "attaching or detaching volumes by the fake storage interface"),
            ("vendor", "a step or an asynchronous method of the fake vendor interface"),
        )
    ],
}
