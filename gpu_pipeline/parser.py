"""argparse as this program wants it: short usage, help in a stable shape, the nearest name."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from gpu_pipeline.console import say
from gpu_pipeline.errors import EXIT_USAGE
from gpu_pipeline.names import did_you_mean

_WIDEST = 98  # what a person still likes to read, however wide the terminal is


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """The same text from every Python version: they differ in how they write `-o FILE`."""

    def __init__(self, prog: str, width: int | None = None) -> None:
        super().__init__(prog, max_help_position=26, width=width)
        self._width = min(self._width, _WIDEST)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return super()._format_action_invocation(action)
        names = ", ".join(action.option_strings)
        if action.nargs == 0:
            return names
        return f"{names} {self._format_args(action, _metavar(action))}"


class Parser(argparse.ArgumentParser):
    """A parser whose errors end in what to do next."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options.setdefault("formatter_class", _Formatter)
        super().__init__(*arguments, **options)
        self.topics: Mapping[str, Parser] = {}
        self._what = ""

    def add_topics(self, name: str, texts: Mapping[str, str]) -> Mapping[str, Parser]:
        """A parser for each command or topic, whose name goes to `name` in the namespace."""
        self._what = name
        added = self.add_subparsers(
            dest=name, metavar=name.upper(), required=True, parser_class=Parser
        )
        self.topics = {
            each: added.add_parser(each, help=text, description=f"{text[0].upper()}{text[1:]}.")
            for each, text in texts.items()
        }
        return self.topics

    def format_usage(self) -> str:
        """One line: the options stand below anyway."""
        self.usage = self._short_usage()
        return super().format_usage()

    def format_help(self) -> str:
        """The help, which begins with that line and ends with examples and exit codes."""
        from gpu_pipeline.commands.help import epilog

        self.usage = self._short_usage()
        command = self.prog.partition(" ")[2]
        if command and not self.topics:
            self.epilog = epilog(command)
        return super().format_help()

    def help_of_width(self, width: int) -> str:
        """The help for a page, whatever terminal it is written in."""
        usual = self.formatter_class
        self.formatter_class = functools.partial(_Formatter, width=width)
        try:
            return self.format_help()
        finally:
            self.formatter_class = usual

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is; ends the program."""
        say(f"error: {message}\n`{self.prog} --help` shows what it takes")
        self.exit(EXIT_USAGE)

    def refuse_unknown(self, words: Sequence[str]) -> None:
        """End the program for a topic or option that there is not, naming the nearest one.

        argparse would take the value of a mistyped option for something else, and complain of that.
        """
        if not self.topics:
            for word in words:
                if word == "--":
                    return
                self._refuse_option(word)
        elif words and words[0].startswith("-"):
            self._refuse_option(words[0])
        elif words and words[0] in self.topics:
            self.topics[words[0]].refuse_unknown(words[1:])
        elif words:
            self.error(f'unknown {self._what} "{words[0]}"{did_you_mean(words[0], self.topics)}')

    def _refuse_option(self, word: str) -> None:
        name = word.partition("=")[0]
        known = [each for action in self._actions for each in action.option_strings]
        if not name.startswith("--") or " " in name:  # argparse takes one with a blank for a value
            return
        if not any(each.startswith(name) for each in known):
            nearest = did_you_mean(name, (each for each in known if each.startswith("--")))
            self.error(f'unknown option "{name}"{nearest}')

    def _short_usage(self) -> str:
        values = [each for each in self._actions if not each.option_strings]
        names = [f"[{_metavar(each)}]" if each.nargs == "?" else _metavar(each) for each in values]
        return " ".join(["%(prog)s", *names, "[options]"])


def _metavar(action: argparse.Action) -> str:
    """What stands for an action's value in its help."""
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper()
