"""Models and epochs in the commands of a job, in the usual spellings."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from gpu_pipeline.adopt.quoting import is_literal
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
_REFERENCE = re.compile(r"\$(?:(\w+)|\{(\w+)(?:(:?-)([^}]*))?\})")
_LOOP = r"\bfor\s+{name}\s+in\s+(?P<list>[\w.-]+(?:[ \t]+[\w.-]+)*)\s*(?=;|\n)"
_WORD = r"[A-Za-z0-9][\w.-]*(?=[\s;|&)]|$)"
_MODEL_LIST = re.compile(
    rf"(?<![\w-])--models(?:\s*=\s*|\s+)(?P<words>{_WORD}(?:[ \t]+{_WORD})+)", re.IGNORECASE
)
_MODEL_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_NUMBER = re.compile(r"[1-9][0-9]{0,5}")
_MAX_LEVELS = 5


class Training(Record):
    """What commands train. `commands` have tokens where the model and the epochs stand.

    `models` are spelt as the command spells them, and `plain` are the commands with the values
    themselves. `used` are the variables that brought a value into the commands, `open` those that
    had only a default there, such as 15 in `${EPOCHS:-15}`. `other_epochs` are further numbers of
    epochs, which one job of a routing cannot have. `epochs_in` and `models_in` are all variables
    that hold one of them, and `asks_epochs` says whether a command has a flag for epochs at all.
    """

    models: tuple[str, ...]
    epochs: int | None
    commands: tuple[str, ...]
    plain: tuple[str, ...]
    used: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()
    other_epochs: tuple[int, ...] = ()
    epochs_in: frozenset[str] = frozenset()
    models_in: frozenset[str] = frozenset()
    asks_epochs: bool = False


class _Tokens(Record):
    """What to put in the place of a value: one mapping for each kind, as values may be equal."""

    epochs: Mapping[str, str]
    models: Mapping[str, str]


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
    spelt: dict[str, str] = {}
    for model in reading.models():
        spelt.setdefault(model.lower(), model)  # TFT and tft are one model: the second stays as is
    models = tuple(spelt.values())
    first = [str(each) for each in epochs[:1]]
    tokens = _Tokens(epochs=dict.fromkeys(first, EPOCHS), models=dict.fromkeys(models, MODEL))
    themselves = _Tokens(
        epochs={each: each for each in first}, models={each: each for each in models}
    )
    return Training(
        models=models,
        epochs=epochs[0] if epochs else None,
        commands=tuple(_joined(each, models) for each in reading.commands(tokens)),
        plain=tuple(reading.commands(themselves)),
        used=frozenset(reading.used),
        open=frozenset(reading.open),
        other_epochs=tuple(epochs[1:]),
        epochs_in=frozenset(n for n in reading.epochs_in if reading.value_of(n) in first),
        models_in=frozenset(
            n for n in reading.models_in if {*reading.value_of(n).split(",")} <= {*models}
        ),
        asks_epochs=reading.asks_epochs,
    )


def _joined(command: str, models: Sequence[str]) -> str:
    """Tokens for all models in one place: `dqn,ppo`, `--models dqn ppo` or `for m in dqn ppo;`."""
    if len(models) < 2:
        return command
    commas = rf"(?<![\w.,-]){re.escape(','.join(models))}(?![\w.,-])"
    command = re.sub(commas, COMMA_MODELS, command)
    blanks = re.escape(" ".join(models))
    loop = rf"(\bin\s+){blanks}(?=\s*(?:;|\n))"
    flag = rf"((?<![\w-])--(?:models|MODELS)(?:\s*=\s*|\s+)){blanks}(?![ \t]+[A-Za-z0-9]|[\w.,-])"
    return re.sub(flag, rf"\1{MODELS}", re.sub(loop, rf"\1{MODELS}", command))


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """`text` with the references to known variables replaced, those in their values too."""
    for _ in range(_MAX_LEVELS):
        text, before = _REFERENCE.sub(lambda match: _lookup(match, variables), text), text
        if text == before:
            break
    return text


def _lookup(match: re.Match[str], variables: Mapping[str, str]) -> str:
    plain, braced, operator, default = match.groups()
    value = variables.get(plain or braced)
    if value is None:
        return default if default is not None else match[0]
    return value or default if operator == ":-" else value


class _Reading:
    def __init__(
        self, commands: Sequence[str], variables: Mapping[str, str], own: Collection[str]
    ) -> None:
        self._commands = commands
        self._variables = variables
        self._all = "\n".join(commands)
        mentioned = {first or second for first, second, *_ in _REFERENCE.findall(self._all)}
        self._telling = {*own, *mentioned} & set(variables)
        self.epochs_in = self._referred(_EPOCHS_FLAG) | {*self._named(_EPOCHS_VARIABLE)}
        self.models_in = self._referred(_MODEL_FLAG) | {*self._named(_MODEL_VARIABLE)}
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
        found += [
            name for match in _MODEL_LIST.finditer(self._all) for name in match["words"].split()
        ]
        named = [f"${name}" for name in self._named(_MODEL_VARIABLE)]
        return found or [name for value in named for name in self._models_in(value)]

    @property
    def asks_epochs(self) -> bool:
        """Whether a command has a flag for epochs, whatever it says."""
        return _EPOCHS_FLAG.search(self._all) is not None

    def value_of(self, name: str) -> str:
        """The value of a variable, with those in it replaced."""
        return expanded(f"${name}", self._variables)

    def _referred(self, flag: re.Pattern[str]) -> set[str]:
        names = {_name_in(match["value"]) for match in flag.finditer(self._all)}
        return {name for name in names if name is not None and name in self._variables}

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

    def commands(self, tokens: _Tokens) -> Iterator[str]:
        """The commands with the tokens of the values that were found in their place."""
        for command in self._commands:
            text = command
            for flag, values in ((_EPOCHS_FLAG, tokens.epochs), (_MODEL_FLAG, tokens.models)):
                listed = {found.start("words") for found in _MODEL_LIST.finditer(text)}
                text = flag.sub(functools.partial(self._put, text, values, listed), text)
            for names, values in (
                (self.epochs_in, tokens.epochs), (self.models_in, tokens.models),
            ):  # fmt: skip
                for name in sorted(names):
                    token = values.get(self.value_of(name))
                    if token is not None:
                        text = self._put_for(name, token, text)
            yield text

    def _put(
        self, text: str, tokens: Mapping[str, str], listed: Collection[int], match: re.Match[str]
    ) -> str:
        token = tokens.get(expanded(match["value"], self._variables))
        name = _name_in(match["value"])
        at = match.start("value")
        if token is None or at in listed or (name and is_literal(text, at)):
            return match[0]
        if name:
            (self.used if name in self._variables else self.open).add(name)
        start, end = (place - match.start() for place in match.span("value"))
        return match[0][:start] + token + match[0][end:]

    def _put_for(self, name: str, token: str, text: str) -> str:
        """`text` with a token for each reference to a variable that the shell would replace."""

        def put(match: re.Match[str]) -> str:
            if is_literal(text, match.start()):
                return match[0]
            self.used.add(name)
            return token

        return re.sub(rf"\$(?:{name}\b|\{{{name}(?::?-[^}}]*)?\}})", put, text)


def _name_in(value: str) -> str | None:
    """The variable that a value is nothing but a reference to."""
    reference = _REFERENCE.fullmatch(value)
    return (reference[1] or reference[2]) if reference else None
