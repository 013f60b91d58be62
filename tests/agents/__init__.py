"""The real ironic-python-agent, in a sandbox: it switches off the machine that it runs on, and erases its disks.

`sandbox.py` makes disks and the sandbox, and runs `stories.py` in it; `inside.py` prepares the sandbox from within, and
`isolation.py` proves that it holds before any agent is started. `machines.py` starts and ends agents as an emulated
controller is told; `agent.py` is such an agent. `disk_nodes.py` stands in for udev.
"""
