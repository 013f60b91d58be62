"""``slow-hardware``, a driver package for tests: see ``slow_hardware.py``.

Processes find it, as they find packages of others, if this folder is in PYTHONPATH; ``enabled_hardware_types`` must
name it.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
