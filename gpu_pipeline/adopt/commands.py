"""The commands of a job as a template can say them: for each model the same, or as they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpu_pipeline.adopt.settings import Given
from gpu_pipeline.adopt.training import COMMA_MODELS, EPOCHS, MODEL, MODELS
from gpu_pipeline.record import Record

# The model as routing.toml spells it, where the command spells it otherwise.
NAME = "\ue004"


class Part(Record):
    """Commands one after the other; `looped` ones are written once for each model."""

    commands: tuple[str, ...]
    looped: bool


class Body(Record):
    """All commands of a job."""

    parts: tuple[Part, ...]


def body_of(given: Given, *, skip: int, words: bool, order: Sequence[str], joined: bool) -> Body:
    """The commands without the first `skip`, which the base has.

    With `words` every mention of the model counts, otherwise only what the training command says.
    `order` is that of the family's models: a job with another one has its models written out, as
    it has where the task cannot spell them `joined` in one place.
    """
    training = given.place.worker.training
    spelt = dict(zip(training.models, given.place.models, strict=False))
    commands = training.commands[skip:]
    plain = training.plain[skip:]
    if words:
        commands = tuple(_with_words(each, spelt) for each in commands)
    models = given.place.models
    if list(models) != [model for model in order if model in models]:
        settled = (_settled(*each, spelt) for each in zip(commands, plain, strict=True))
        parts = iter([Part(commands=tuple(settled), looped=False)])
    elif len(spelt) > 1:
        parts = _loops(commands, plain, spelt, given.place.worker.epochs, joined=joined)
    else:
        parts = _one_loop(commands)
    return Body(parts=tuple(parts))


def _with_words(command: str, spelt: Mapping[str, str]) -> str:
    for text, name in sorted(spelt.items(), key=lambda pair: -len(pair[0])):
        for word, token in ((text, MODEL), (name, MODEL if text == name else NAME)):
            whole = rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])"
            command = re.sub(whole, token, command)
    return command


def _one_loop(commands: Sequence[str]) -> Iterator[Part]:
    """One model: from the first command that names it to the last is the loop over models."""
    named = [n for n, each in enumerate(commands) if MODEL in each or NAME in each]
    first, last = (named[0], named[-1] + 1) if named else (len(commands), len(commands))
    for part, looped in ((commands[:first], False), (commands[first:last], True)):
        if part:
            yield Part(commands=tuple(part), looped=looped)
    if commands[last:]:
        yield Part(commands=tuple(commands[last:]), looped=False)


def _loops(
    commands: Sequence[str],
    plain: Sequence[str],
    spelt: Mapping[str, str],
    epochs: int,
    *,
    joined: bool,
) -> Iterator[Part]:
    """Several models: the longest runs of commands that repeat for each model in turn."""
    at, single = 0, list[str]()
    while at < len(commands):
        length = next(
            (
                length
                for length in range(1, (len(commands) - at) // len(spelt) + 1)
                if _repeats(commands[at : at + length], plain[at:], spelt, epochs)
            ),
            0,
        )
        if not length:
            single.append(_settled(commands[at], plain[at], spelt, joined=joined))
            at += 1
            continue
        if single:
            yield Part(commands=tuple(single), looped=False)
            single = []
        yield Part(commands=tuple(commands[at : at + length]), looped=True)
        at += length * len(spelt)
    if single:
        yield Part(commands=tuple(single), looped=False)


def _repeats(
    commands: Sequence[str], plain: Sequence[str], spelt: Mapping[str, str], epochs: int
) -> bool:
    """Whether `plain` begins with these commands, filled in for one model after the other."""
    if not any(MODEL in each or NAME in each for each in commands):
        return False
    filled = [
        command.replace(EPOCHS, str(epochs)).replace(MODEL, text).replace(NAME, name)
        for text, name in spelt.items()
        for command in commands
    ]
    return filled == list(plain[: len(filled)])


def _settled(command: str, plain: str, spelt: Mapping[str, str], *, joined: bool = False) -> str:
    """The command with its models as they stand in it, but the epochs left open.

    All models in one place stay open as well where they can be `joined`.
    """
    if MODELS in command or COMMA_MODELS in command:
        if joined:
            return command
        command = command.replace(MODELS, " ".join(spelt)).replace(COMMA_MODELS, ",".join(spelt))
    if MODEL not in command and NAME not in command:
        return command
    either = "|".join(re.escape(word) for pair in spelt.items() for word in pair)
    pattern = "".join(
        f"({either})" if part in (MODEL, NAME) else "(.+?)" if part == EPOCHS else re.escape(part)
        for part in re.split(f"([{EPOCHS}{MODEL}{NAME}])", command)
    )
    match = re.fullmatch(pattern, plain, re.DOTALL)
    return _filled(command, match.groups()) if match else plain


def _filled(command: str, words: Sequence[str]) -> str:
    left = iter(words)

    def word(found: re.Match[str]) -> str:
        text = next(left)
        return EPOCHS if found[0] == EPOCHS else text

    return re.sub(f"[{EPOCHS}{MODEL}{NAME}]", word, command)
