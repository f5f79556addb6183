"""The templates: text in, text out. Which values there are is decided before, in `child`."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import nodes

from gpu_pipeline.child import Child
from gpu_pipeline.errors import TemplateError
from gpu_pipeline.names import did_you_mean
from gpu_pipeline.readback import check_rendered
from gpu_pipeline.record import Record
from gpu_pipeline.template_files import ROOT, SUFFIX
from gpu_pipeline.yaml_text import Plain, bare_name, block, quote


def render(child: Child, templates: Path) -> str:
    """The text of one child pipeline: what `Templates.render` gives."""
    return Templates(templates).render(child)


class Templates:
    """The templates of a folder, read and compiled once for however many children."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: Counter[str] = Counter()
        self._loader = _Loader(folder)
        self._environment = _environment(self._loader, self._written)
        self._examined = False

    def render(self, child: Child) -> str:
        """The text of the child pipeline, read back and compared with what was meant.

        Raises TemplateError, with the template and line, for a mistake in a template.
        """
        self._written.clear()
        try:
            if not self._examined:
                trees = self._loader.parse_all(self._environment)
                _refuse_dropped_text(trees, self._folder.name)
                self._examined = True
            text = self._environment.get_template(ROOT).render(child=child)
        except TemplateError:
            raise
        except Exception as error:  # whatever a template does wrong is the template's error
            where, what = _locate(error, self._folder), _describe(error, self._environment)
            raise TemplateError(f"{where}: {what}") from None
        text = text.rstrip("\n") + "\n"
        check_rendered(text, child, self._written, self._folder.name)
        return text


class _Loader(jinja2.FileSystemLoader):
    """Makes templates of the trees that were examined, so that each file is parsed once."""

    def __init__(self, templates: Path) -> None:
        super().__init__(templates)
        self._folder = templates
        self._trees: dict[str, nodes.Template] = {}

    def parse_all(self, environment: jinja2.Environment) -> Mapping[str, nodes.Template]:
        """The trees of all templates by name. Raises TemplateError for one that is no text."""
        for name in environment.list_templates(filter_func=lambda name: name.endswith(SUFFIX)):
            path = self._folder / name
            if not path.is_file():  # a folder, a pipe or a broken link; who uses it will be told
                continue
            try:
                text = path.read_text(encoding="utf-8")
                self._trees[name] = environment.parse(text, name, str(path))
            except UnicodeDecodeError:
                raise TemplateError(f"{self._folder.name}/{name}: is not UTF-8") from None
            except OSError as error:
                raise TemplateError(
                    f"{self._folder.name}/{name}: cannot be read ({error.strerror})"
                ) from None
        return self._trees

    def load(
        self,
        environment: jinja2.Environment,
        name: str,
        globals: MutableMapping[str, Any] | None = None,
    ) -> jinja2.Template:
        """The template of that name; one that is not among the trees is read as usual."""
        if name not in self._trees:
            return super().load(environment, name, globals)
        code = environment.compile(self._trees[name], name, str(self._folder / name))
        return environment.template_class.from_code(environment, code, globals or {})


def _refuse_dropped_text(trees: Mapping[str, nodes.Template], folder: str) -> None:
    """Jinja drops whatever a template that extends another has outside the other's blocks."""
    for name, tree in trees.items():
        extends = next((node for node in tree.body if isinstance(node, nodes.Extends)), None)
        if extends is None:
            continue
        for node in _outside_blocks(tree):
            raise TemplateError(
                f"{folder}/{name}:{_first_text_line(node)}: this stands outside a "
                "block, so it would be dropped; put it into a block such as script or extra"
            )
        parent = extends.template.value if isinstance(extends.template, nodes.Const) else None
        if isinstance(parent, str) and parent in trees:
            _check_blocks(tree, trees[parent], f"{folder}/{name}", parent)


def _outside_blocks(node: nodes.Node) -> Iterator[nodes.Output | nodes.Include]:
    """What would write something outside every block, in loops and conditions too."""
    for below in node.iter_child_nodes():
        if isinstance(below, nodes.Include) or (
            isinstance(below, nodes.Output) and not _is_blank(below)
        ):
            yield below
        elif not isinstance(below, nodes.Block | nodes.Macro | nodes.AssignBlock):
            yield from _outside_blocks(below)


def _check_blocks(
    tree: nodes.Template, parent: nodes.Template, file: str, parent_name: str
) -> None:
    known = [block.name for block in parent.find_all(nodes.Block)]
    inside = {b.name for outer in tree.find_all(nodes.Block) for b in outer.find_all(nodes.Block)}
    for own in tree.find_all(nodes.Block):
        if own.name not in known and own.name not in inside:
            raise TemplateError(
                f"{file}:{own.lineno}: {parent_name} has no block "
                f'"{own.name}"{did_you_mean(own.name, known)}'
            )


def _is_blank(output: nodes.Output) -> bool:
    return all(isinstance(n, nodes.TemplateData) and not n.data.strip() for n in output.nodes)


def _first_text_line(node: nodes.Output | nodes.Include) -> int:
    first = node.nodes[0] if isinstance(node, nodes.Output) else node
    if isinstance(first, nodes.TemplateData):
        blank = len(first.data) - len(first.data.lstrip())
        return first.lineno + first.data[:blank].count("\n")
    return first.lineno


class _Environment(jinja2.Environment):
    """Names in templates mean keys and fields only, never the methods of a Python object."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, Record):
            known = argument in obj.__struct_fields__
        elif isinstance(obj, Mapping):
            known = argument in obj
        elif isinstance(obj, str | int | Sequence):
            known = isinstance(argument, int | slice)
        else:  # Jinja's own objects, such as loop
            known = True
        return super().getitem(obj, argument) if known else self.undefined(obj=obj, name=argument)


class _Undefined(jinja2.StrictUndefined):
    """A name that does not exist: its message says which one was probably meant."""

    @property
    def _undefined_message(self) -> str:
        name = self._undefined_name or ""
        if self._undefined_obj is jinja2.utils.missing:
            return f'"{name}" is not defined{did_you_mean(name, ("base", "child", "job"))}'
        owner = type(self._undefined_obj).__name__
        return f'{owner} has no "{name}"{did_you_mean(name, _known(self._undefined_obj))}'


def _known(obj: object) -> Iterable[str]:
    if isinstance(obj, Mapping):
        return [str(key) for key in obj]
    return obj.__struct_fields__ if isinstance(obj, Record) else ()


def _environment(loader: jinja2.BaseLoader, written: Counter[str]) -> jinja2.Environment:
    """An environment whose quoting filters note in `written` every text that passes through."""
    environment = _Environment(
        loader=loader,
        undefined=_Undefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        finalize=_never_none,
        auto_reload=False,
    )

    def quoted(value: str | int) -> str:
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise TypeError(f"the filter quoted takes text or a whole number, not {value!r}")
        written[str(value)] += 1
        return quote(str(value))

    def name(value: str) -> str:
        written[value] += 1
        return bare_name(value)

    def yaml(value: Plain, indent: int) -> str:
        written.update(_texts(value))
        return block(value, indent)

    environment.filters |= {"quoted": quoted, "name": name, "yaml": yaml, "shell": shlex.quote}
    return environment


def _never_none(value: object) -> object:
    """What is not set must not be written as the text None."""
    if value is None:
        raise TypeError("the value here is not set (None)")
    return value


def _texts(value: Plain) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif not isinstance(value, int):
        for item in value:
            yield from _texts(item)


def _locate(error: BaseException, templates: Path) -> str:
    """The template and line in which an error arose, as `templates/tasks/hyperopt.yml.j2:3`."""
    import traceback

    places = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, jinja2.TemplateSyntaxError):
        places.append((error.filename or error.name or ROOT, error.lineno))
    for file, line in reversed(places):
        path = templates / file  # an absolute path stays as it is
        if path.is_relative_to(templates) and path.suffix == ".j2":
            return f"{templates.name}/{path.relative_to(templates).as_posix()}:{line}"
    return f"{templates.name}/{ROOT}"


def _describe(error: Exception, environment: jinja2.Environment) -> str:
    message = str(error) or type(error).__name__
    named: dict[str, Iterable[str]] = {"filter": environment.filters, "test": environment.tests}
    for kind, known in named.items():
        if message.startswith(f"No {kind} named "):
            name = message.removeprefix(f"No {kind} named ").strip("'.")
            return f'no {kind} is named "{name}"{did_you_mean(name, known)}'
    if isinstance(error, jinja2.TemplateNotFound):
        known = environment.list_templates()
        return f"there is no template {error.name}{did_you_mean(str(error.name), known)}"
    if isinstance(error, RecursionError):
        return "the template includes itself"
    return message
