"""What ``driver_info`` says about booting from virtual media."""

DEPLOY_ISO, RESCUE_ISO = "deploy_iso", "rescue_iso"

PROPERTIES = {
    DEPLOY_ISO: "URL (http or https) of an ISO image with an agent, which the machine boots to be inspected by it. "
    "Optional.",
    RESCUE_ISO: "URL (http or https) of an ISO image with an agent, which the machine boots to be rescued. Optional.",
}
