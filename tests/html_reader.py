"""A page as a tree of tags, read strictly: what is opened is closed, in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input"}


@dataclass
class Element:
    name: str
    attributes: dict[str, str | None]
    children: list[Element | str] = field(default_factory=list)

    @property
    def raw(self) -> str:
        return "".join(each if isinstance(each, str) else each.raw for each in self.children)

    @property
    def text(self) -> str:
        return " ".join(self.raw.split())

    def all(self, name: str) -> list[Element]:
        found = []
        for each in self.children:
            if isinstance(each, Element):
                found += [each] if each.name == name else []
                found += each.all(name)
        return found

    def every(self) -> list[Element]:
        found = [self]
        for each in self.children:
            if isinstance(each, Element):
                found += each.every()
        return found

    def skeleton(self) -> list[tuple[str, tuple[str, ...]]]:
        """Which tags there are, with which attributes, but not their values."""
        return [(each.name, tuple(each.attributes)) for each in self.every()]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(self.open[-1].children[-1])

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice: {names}"
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        closed = self.open.pop()
        assert closed.name == tag, f"</{tag}> closes <{closed.name}>"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read_html(text: str) -> Element:
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == [reader.root], f"<{reader.open[-1].name}> is never closed"
    return reader.root
