"""Where our Redfish nodes differ from Ironic's on purpose: by emulator and story, patterns of the names of what was
seen, each with the reason. Everything else has to be equal."""

DIFFERENCES: dict[str, dict[str, str]] = {}
