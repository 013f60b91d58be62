"""Tests run with the fast path of the candidate search, as in production, or without it: TEST_FAST_PATH=off."""

import os

import pytest

IS_ON = {"on": True, "off": False}[os.environ.get("TEST_FAST_PATH", "on")]

#: What a service must find in its environment.
ENVIRONMENT = {} if IS_ON else {"OS_PLACEMENT__CANDIDATES_FAST_PATH": "false"}

#: For tests of the fast path's own statements.
needs_fast_path = pytest.mark.skipif(not IS_ON, reason="TEST_FAST_PATH=off: it counts the statements of the fast path")
