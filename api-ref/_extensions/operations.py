"""Methods as this reference shows them: a list in front, and each with a heading, verb and path, and an example.

os-api-ref draws verb, path and title as one line of a theme that folds sections. Here the title is a heading like any
other, with the same anchor.
"""

import re
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from os_api_ref import rest_method
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

_HEADING = '<h2>{title}<a class="headerlink" href="#{target}" title="Link to this heading">¶</a></h2>\n'
_OPERATION = '<p class="operation"><span class="badge label-{method}">{method}</span> <code>{url}</code></p>\n'


def method_html(translator: Any, node: rest_method) -> None:
    """Write heading, verb and path."""
    url = escape(node["url"]).replace("{", '<span class="path_parameter">{').replace("}", "}</span>")
    translator.body.append(_HEADING.format(title=escape(str(node["desc"])), target=escape(node["target"])))
    translator.body.append(_OPERATION.format(method=escape(node["method"]), url=url))
    raise nodes.SkipNode


#: Parts of the names of files that os-api-ref brings.
_OF_THE_THEME = ("api-site", "bootstrap", "glyphicons")
_WITHOUT_WORDS = re.compile(
    r'(<ul>\s*)?<li><a class="reference internal" href="#[\w-]+-selector"></a></li>\s*(?(1)</ul>)'
)
#: The least number of methods for which a page begins with a list of them.
_SEVERAL = 2


class RestExample(SphinxDirective):
    """``.. rest_example:: NAME`` shows request and answer of ``examples/NAME.http``, which lies beside the page."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Return a block for the request and one for the answer."""
        file = Path(self.env.doc2path(self.env.docname)).parent / "examples" / f"{self.arguments[0]}.http"
        self.env.note_dependency(str(file))
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise self.error(f"There is no such example: {error}") from error
        request, separator, answer = text.rpartition("\nHTTP/1.1 ")
        return [_block(request), _block((separator + answer).lstrip())]


def _block(text: str) -> nodes.literal_block:
    # An ellipsis may stand where JSON has none: no reason to fail.
    return nodes.literal_block(text, text, language="http", force=True)


def list_operations(app: Sphinx, doctree: nodes.document) -> None:
    """Put a list of the methods, each a link, in front of a page that has several."""
    methods = list(doctree.findall(rest_method))
    top = next(iter(doctree.findall(nodes.section)), None)
    if len(methods) < _SEVERAL or top is None:
        return
    place = next(index for index, child in enumerate(top.children) if next(iter(child.findall(rest_method)), None))
    items = (nodes.list_item("", nodes.paragraph("", "", *_entry(each))) for each in methods)
    top.insert(place, nodes.bullet_list("", *items, classes=["operations"]))


def _entry(method: rest_method) -> list[nodes.Node]:
    verb = nodes.inline(text=method["method"], classes=["badge", f"label-{method['method']}"])
    link = nodes.reference("", str(method["desc"]), refuri=f"#{method['target']}", internal=True)
    return [verb, nodes.Text(" "), nodes.literal(text=method["url"]), nodes.Text("  "), link]


def tidy(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Leave out the scripts and styles of os-api-ref, which fold what is open here and need jQuery, and its entries
    without words in the list of sections."""
    context["toc"] = _WITHOUT_WORDS.sub("", context.get("toc", ""))
    for name in ("script_files", "css_files"):
        kept = [each for each in context.get(name, ()) if not any(own in str(each) for own in _OF_THE_THEME)]
        context[name] = kept


def setup(app: Sphinx) -> dict[str, Any]:
    """Replace what os-api-ref draws, and add the directive."""
    app.setup_extension("os_api_ref")
    app.add_node(rest_method, override=True, html=(method_html, None), text=(_skip, None))
    app.add_directive("rest_example", RestExample)
    app.connect("doctree-read", list_operations)
    app.connect("html-page-context", tidy, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _skip(translator: Any, node: rest_method) -> None:
    raise nodes.SkipNode
