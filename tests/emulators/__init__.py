"""Emulators of management controllers, written by others: sushy-emulator of sushy-tools, a process of its own.

Each is a context manager that starts one on 127.0.0.1, waits until it answers, and stops it:

    with fake_systems(20, users={"admin": "fake-password1"}) as emulator:
        driver_info = emulator.driver_info(0)

`emulator.py` has them; `images.py` serves the images that virtual media are made of.
"""

from tests.emulators.emulator import Emulator, fake_systems, ironic_cloud, libvirt_systems, minimum
from tests.emulators.images import ImageServer, image_server

__all__ = ["Emulator", "ImageServer", "fake_systems", "image_server", "ironic_cloud", "libvirt_systems", "minimum"]
