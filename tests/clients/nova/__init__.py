"""A real Nova, and this service as both its Ironic and its Placement."""

import pytest

pytest.register_assert_rewrite("tests.clients.nova.rig")
