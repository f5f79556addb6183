"""Cron lines and time zones of schedules: what GitLab takes, and when the next runs are."""

from __future__ import annotations

import datetime
import itertools
import re
import zoneinfo
from collections.abc import Iterator

from croniter import CroniterError, croniter

from gpu_pipeline.errors import UsageError
from gpu_pipeline.names import did_you_mean

_FIELDS = "minute, hour, day of the month, month, day of the week"
# Names of months and days, numbers, and their combinations; croniter knows more than GitLab does.
_FIELD = re.compile(
    r"(?:[\d*/,#L-]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat)+",
    re.IGNORECASE,
)
_DAY = datetime.timedelta(days=1)
_A_YEAR = 366  # days


def check_cron(line: str) -> str:
    """The cron line with single blanks. Raises UsageError for what is none or never comes."""
    fields = line.split()
    if len(fields) != 5 or not all(_FIELD.fullmatch(field) for field in fields):
        raise UsageError(f'--cron: "{line}" is not five fields: {_FIELDS}')
    text = " ".join(fields)
    try:
        croniter(text, datetime.datetime.now(datetime.UTC)).get_next(datetime.datetime)
    except (CroniterError, ValueError) as error:
        raise UsageError(f'--cron: "{line}" is no time that ever comes ({error})') from None
    return text


def check_timezone(name: str) -> zoneinfo.ZoneInfo:
    """The time zone of that name. Raises UsageError with the nearest known one."""
    known = zoneinfo.available_timezones()
    if name not in known:
        raise UsageError(f'--timezone: unknown time zone "{name}"{did_you_mean(name, known)}')
    return zoneinfo.ZoneInfo(name)


def runs(line: str, zone: zoneinfo.ZoneInfo, now: datetime.datetime) -> Iterator[datetime.datetime]:
    """The coming times of a valid cron line, in its zone."""
    times = croniter(line, now.astimezone(zone))
    while True:
        yield times.get_next(datetime.datetime)


def period(line: str, now: datetime.datetime) -> datetime.timedelta | None:
    """The longest time between two of the next runs; None for a line that cannot be read."""
    try:
        coming = list(itertools.islice(runs(line, zoneinfo.ZoneInfo("UTC"), now), 10))
    except (CroniterError, ValueError):
        return None
    return max(later - earlier for earlier, later in itertools.pairwise(coming))


def left_out(
    line: str, zone: zoneinfo.ZoneInfo, now: datetime.datetime
) -> datetime.datetime | None:
    """The first run within a year whose time does not exist, as clocks are put forward then."""
    begin = now.astimezone(zone).replace(tzinfo=None)
    today = datetime.datetime.combine(begin, datetime.time())
    for day in (today + n * _DAY for n in range(_A_YEAR)):
        if _offset(day, zone) == _offset(day + _DAY, zone):
            continue  # no clock is touched on this day
        naive = croniter(line, max(begin, day - datetime.timedelta(seconds=1)))
        while (run := naive.get_next(datetime.datetime)) < day + _DAY:
            there_and_back = run.replace(tzinfo=zone).astimezone(datetime.UTC).astimezone(zone)
            if there_and_back.replace(tzinfo=None) != run:
                return run
    return None


def _offset(time: datetime.datetime, zone: zoneinfo.ZoneInfo) -> datetime.timedelta | None:
    return time.replace(tzinfo=zone).utcoffset()
