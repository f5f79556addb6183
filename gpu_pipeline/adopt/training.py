"""Models and epochs in the commands of a job, in the usual spellings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from gpu_pipeline.record import Record

# Where a command has the epochs, a model, or all models with blanks or commas between them. These
# characters are of no script (Unicode's private use), and so can stand for what is found.
EPOCHS, MODEL, MODELS, COMMA_MODELS = "\ue000", "\ue001", "\ue002", "\ue003"
_TOKENS = re.compile(f"[{EPOCHS}-{COMMA_MODELS}]")

_VALUE = r"""(?P<quote>["']?)(?P<value>\$\{[^}\s]*\}|[^\s"';|&()<>]+)(?P=quote)"""
_EPOCHS_FLAG = re.compile(
    r"(?:(?<![\w-])--(?:(?:num|n|max|train|total)[-_]?)?epochs?(?:\s*=\s*|\s+)"
    rf"|(?<![\w$-])(?:[\w.+]*\.)?(?:(?:num|n|max|train|total)_?)?epochs?=){_VALUE}",
    re.IGNORECASE,
)
_MODEL_FLAG = re.compile(
    r"(?:(?<![\w-])--(?:models?(?:[-_](?:name|type|kind))?|arch(?:itecture)?|agent|algo(?:rithm)?)"
    rf"(?:\s*=\s*|\s+)|(?<![\w$-])(?:[\w.+]*\.)?model(?:[._]name)?=){_VALUE}",
    re.IGNORECASE,
)
_EPOCHS_VARIABLE = re.compile(r"(?:(?:NUM|N|MAX|TRAIN|ROUTE)_?)?EPOCHS")
_MODEL_VARIABLE = re.compile(r"MODEL(?:_?NAME)?|ALGO(?:RITHM)?|AGENT|ARCH")
_REFERENCE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?-([^}]*))?\})")
_LOOP = r"\bfor\s+{name}\s+in\s+(?P<list>[\w.-]+(?:[ \t]+[\w.-]+)*)\s*(?=;|\n)"
_MODEL_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_NUMBER = re.compile(r"[1-9][0-9]{0,5}")
_MAX_LEVELS = 5


class Training(Record):
    """What commands train. `commands` have tokens where the model and the epochs stand.

    `models` are spelt as the command spells them, and `plain` are the commands with the values
    themselves. `used` are the variables that brought a value into the commands, `open` those that
    had only a default there, such as 15 in `${EPOCHS:-15}`. `other_epochs` are further numbers of
    epochs, which one job of a routing cannot have.
    """

    models: tuple[str, ...]
    epochs: int | None
    commands: tuple[str, ...]
    plain: tuple[str, ...]
    used: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()
    other_epochs: tuple[int, ...] = ()


def find_training(
    commands: Sequence[str], variables: Mapping[str, str], *, own: Collection[str] = ()
) -> Training:
    """Models and epochs of a job's commands; `variables` are those that the job sees.

    Where no command says them, a variable such as MODEL or EPOCHS does, if it is the job's `own` or
    a command mentions it.
    """
    if any(_TOKENS.search(command) for command in commands):
        return Training(models=(), epochs=None, commands=tuple(commands), plain=tuple(commands))
    reading = _Reading(commands, variables, own)
    epochs = list(dict.fromkeys(reading.epochs()))
    models = tuple(dict.fromkeys(reading.models()))
    tokens = dict.fromkeys(models, MODEL) | {str(each): EPOCHS for each in epochs[:1]}
    return Training(
        models=models,
        epochs=epochs[0] if epochs else None,
        commands=tuple(_joined(each, models) for each in reading.commands(tokens)),
        plain=tuple(reading.commands({value: value for value in tokens})),
        used=frozenset(reading.used),
        open=frozenset(reading.open),
        other_epochs=tuple(epochs[1:]),
    )


def _joined(command: str, models: Sequence[str]) -> str:
    """Tokens for all models in one place: `dqn,ppo`, or `for m in dqn ppo;`."""
    if len(models) < 2:
        return command
    command = command.replace(",".join(models), COMMA_MODELS)
    loop = r"(\bin\s+)" + re.escape(" ".join(models)) + r"(?=\s*(?:;|\n))"
    return re.sub(loop, rf"\1{MODELS}", command)


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """`text` with the references to known variables replaced, those in their values too."""
    for _ in range(_MAX_LEVELS):
        text, before = _REFERENCE.sub(lambda match: _lookup(match, variables), text), text
        if text == before:
            break
    return text


def _lookup(match: re.Match[str], variables: Mapping[str, str]) -> str:
    plain, braced, default = match.groups()
    value = variables.get(plain or braced)
    if value is None:
        return default if default is not None else match[0]
    return value


class _Reading:
    def __init__(
        self, commands: Sequence[str], variables: Mapping[str, str], own: Collection[str]
    ) -> None:
        self._commands = commands
        self._variables = variables
        self._all = "\n".join(commands)
        mentioned = {first or second for first, second, _ in _REFERENCE.findall(self._all)}
        self._telling = {*own, *mentioned} & set(variables)
        self.used: set[str] = set()
        self.open: set[str] = set()

    def epochs(self) -> list[int]:
        """The numbers of epochs in the commands; those of a variable when there are none."""
        values = [match["value"] for match in _EPOCHS_FLAG.finditer(self._all)]
        texts = [expanded(value, self._variables) for value in values]
        found = [int(text) for text in texts if _NUMBER.fullmatch(text)]
        named = [self._variables[name] for name in self._named(_EPOCHS_VARIABLE)]
        return found or [int(text) for text in named if _NUMBER.fullmatch(text)]

    def models(self) -> list[str]:
        """The models in the commands; those of a variable when there are none."""
        values = [match["value"] for match in _MODEL_FLAG.finditer(self._all)]
        found = [name for value in values for name in self._models_in(value)]
        named = [f"${name}" for name in self._named(_MODEL_VARIABLE)]
        return found or [name for value in named for name in self._models_in(value)]

    def _named(self, pattern: re.Pattern[str]) -> list[str]:
        """Variables whose name says what they hold."""
        return sorted(name for name in self._telling if pattern.fullmatch(name))

    def _models_in(self, value: str) -> list[str]:
        loop = self._loop(value)
        text = loop["list"].replace(" ", ",") if loop else expanded(value, self._variables)
        names = [name for name in re.split(r"[,\s]+", text) if name]
        return names if all(_MODEL_NAME.fullmatch(name) for name in names) else []

    def _loop(self, value: str) -> re.Match[str] | None:
        """The shell's loop over models whose variable `value` is."""
        name = _name_in(value)
        if name is None or name in self._variables:
            return None
        return re.search(_LOOP.format(name=re.escape(name)), self._all)

    def commands(self, tokens: Mapping[str, str]) -> Iterator[str]:
        """The commands with the tokens of the values that were found in their place."""
        flags = (_EPOCHS_FLAG, _MODEL_FLAG)
        values = {match["value"] for flag in flags for match in flag.finditer(self._all)}
        names = {name for value in values if (name := _name_in(value))} & set(self._variables)
        names |= {*self._named(_EPOCHS_VARIABLE), *self._named(_MODEL_VARIABLE)}
        for command in self._commands:
            text = command
            for flag in flags:
                text = flag.sub(lambda match: self._put(match, tokens), text)
            for name in names:
                token = tokens.get(expanded(f"${name}", self._variables))
                if token is not None:
                    references = rf"\$(?:{name}\b|\{{{name}(?::?-[^}}]*)?\}})"
                    text, count = re.subn(references, token, text)
                    self.used |= {name} if count else set()
            yield text

    def _put(self, match: re.Match[str], tokens: Mapping[str, str]) -> str:
        token = tokens.get(expanded(match["value"], self._variables))
        if token is None:
            return match[0]
        if name := _name_in(match["value"]):
            (self.used if name in self._variables else self.open).add(name)
        start, end = (place - match.start() for place in match.span("value"))
        return match[0][:start] + token + match[0][end:]


def _name_in(value: str) -> str | None:
    """The variable that a value is nothing but a reference to."""
    reference = _REFERENCE.fullmatch(value)
    return (reference[1] or reference[2]) if reference else None
