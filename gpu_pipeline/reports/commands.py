"""The commands reference, docs/commands.md: what `--help` says, on one page."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_pipeline.parser import Parser

_WIDTH = 80
_HEAD = """\
# Commands

What `--help` says of each command, written by `make docs`. All of them are run as

```sh
.venv/bin/python generate_pipeline.py COMMAND    # or ./generate_pipeline.py, in an active .venv
```

Results go to stdout, everything else to stderr. Colours are for terminals: `NO_COLOR=1` turns them
off, `FORCE_COLOR=1` on; JSON and files have none. An exit code means the same everywhere."""


def commands_page(parser: Parser) -> str:
    """The page, in Markdown; the same in every terminal."""
    return "\n\n".join([_HEAD, *_sections(parser)]) + "\n"


def _sections(parser: Parser) -> Iterator[str]:
    name = parser.prog.partition(" ")[2]
    title = f"`{name}`" if name else "Without a command"
    yield f"## {title}\n\n```text\n{parser.help_of_width(_WIDTH).rstrip()}\n```"
    for topic in parser.topics.values():
        yield from _sections(topic)
