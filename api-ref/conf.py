"""How the API reference is built: ``sphinx-build -W -b html api-ref OUTPUT`` (extra ``docs``)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "baremetal-sched"
author = "the baremetal-sched authors"
copyright = "the baremetal-sched authors, Apache License 2.0"

extensions = [
    "os_api_ref",
    "openapi_operation",
    "operations",
    "error_messages",
    "event_types",
    "oslo_config.sphinxext",
    "myst_parser",
    "sphinx_click",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]
highlight_language = "none"
# Links of the changelog lead to files of the repository, which are pages here.
suppress_warnings = ["myst.xref_missing"]

html_theme = "furo"
html_title = "baremetal-sched"
html_static_path = ["_static"]
html_css_files = ["reference.css"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_copy_source = False
html_show_sphinx = False

# What is printed is not copied with the commands.
copybutton_prompt_text = "$ "
copybutton_selector = "div:not(.no-copybutton) > div.highlight > pre"

man_pages = [("command_line", "baremetal-sched", "a bare metal scheduler", author, 1)]
