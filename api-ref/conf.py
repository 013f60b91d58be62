"""How the API reference is built: ``sphinx-build -W -b html api-ref OUTPUT`` (extra ``docs``)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "baremetal-sched"
author = "the baremetal-sched authors"
copyright = "the baremetal-sched authors, Apache License 2.0"

extensions = ["os_api_ref", "operations", "oslo_config.sphinxext"]
exclude_patterns = ["_build"]
highlight_language = "none"

html_theme = "alabaster"
html_theme_options = {"page_width": "75rem", "sidebar_width": "16rem", "fixed_sidebar": True}
html_title = "baremetal-sched API reference"
html_static_path = ["_static"]
html_css_files = ["reference.css"]
html_copy_source = False
