"""Tests. Their bytecode is kept, as in ``.ci/run``, also with PYTHONDONTWRITEBYTECODE.

Otherwise each worker of each run rewrites all assertions, and compiles the package, again.
"""

import sys

sys.dont_write_bytecode = False
