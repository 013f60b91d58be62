"""Pages as tests read them: parsed strictly, so that markup which was not closed or not escaped is found."""

from html.parser import HTMLParser
from typing import Any

from webtest import TestResponse

from tests.service import Service

_VOID = frozenset({"meta", "link", "input", "br", "hr", "img"})
#: Elements without which a page must do.
_FORBIDDEN = frozenset({"style", "iframe", "object", "embed", "base"})


class Document(HTMLParser):
    """A page: its elements with their attributes, its texts, its tables."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        #: Controls of the search box, which every page has.
        self.of_search: list[int] = []
        self.texts: list[tuple[str, str]] = []
        #: The text for each term of lists of terms.
        self.terms: dict[str, str] = {}
        self.tables: dict[str, list[list[str]]] = {}
        self._caption = self._term = ""
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        assert tag not in _FORBIDDEN, tag
        assert tag != "script" or (attributes["src"] or "").endswith(("/ui/static/live.js", "/ui/static/copy.js"))
        assert "style" not in attributes, f"inline style at {tag}"
        assert not [name for name in attributes if name.startswith("on")], f"script at {tag}"
        if attributes.get("role") == "search" or ("form" in self.open and "header" in self.open):
            self.of_search.append(len(self.elements))
        self.elements.append((tag, attributes))
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "tr" and self._caption:
            self.tables[self._caption].append([])
        if tag in ("td", "th") and self._caption:
            self.tables[self._caption][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> within {self.open}"
        self.open.pop()
        if tag == "table":
            self._caption = ""

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if not text:
            return
        where = self.open[-1] if self.open else ""
        self.texts.append((where, text))
        if where == "dt":
            self._term = text
        elif "dd" in self.open:
            self.terms[self._term] = f"{self.terms.get(self._term, '')} {text}".strip()
        if where == "caption":
            self._caption = text
            self.tables[text] = []
        elif self._caption and self.tables[self._caption] and ({"td", "th"} & set(self.open)):
            cells = self.tables[self._caption][-1]
            cells[-1] = f"{cells[-1]} {text}".strip()

    @property
    def text(self) -> str:
        """All that can be read, with one blank between texts."""
        return " ".join(text for _, text in self.texts)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of each element of this kind, without those of the search box."""
        return [
            attributes
            for place, (name, attributes) in enumerate(self.elements)
            if name == tag and place not in self.of_search
        ]

    def rows(self, caption: str) -> list[list[str]]:
        """The cells of the rows of a table, without its head."""
        return self.tables[caption][1:]

    def links(self) -> list[str]:
        """Where the links of the page lead."""
        return [each["href"] or "" for each in self.all("a")]


def look(service: Service, path: str = "/", status: int = 200, **headers: str) -> Document:
    """GET /ui<path>, as a document that has what every page must have."""
    answer = service.http.get(f"/ui{path}", headers=headers, status=status)
    return read(answer)


def read(answer: TestResponse) -> Document:
    """The answer as a document that has what every page must have."""
    assert answer.content_type == "text/html"
    document = Document(answer.text)
    assert document.all("html") == [{"lang": "en"}]
    for landmark in ("header", "main", "footer", "h1"):
        assert len(document.all(landmark)) == 1, landmark
    names = [each["aria-label"] for each in document.all("nav")]
    # The log-in has no way to pages that lead back to it.
    assert "Pages" in names or document.texts[0][1].startswith("Log in")
    assert len(names) == len(set(names))
    # Pictures have titles too.
    assert "title" in [tag for tag, _ in document.elements[: [tag for tag, _ in document.elements].index("body")]]
    labelled = {each.get("for") for each in document.all("label")}
    controls: list[Any] = [each for tag in ("input", "select", "textarea") for each in document.all(tag)]
    named = [each for each in controls if each.get("type") != "hidden" and not each.get("aria-label")]
    assert {each["id"] for each in named} <= labelled
    ids = [attributes["id"] for _, attributes in document.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    return document
