"""The tables of a plan's report: which cells there are, and by what they sort. No HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpu_pipeline.durations import format_duration
from gpu_pipeline.plan.model import Figure, PlannedPool, Run, Source
from gpu_pipeline.plan.summary import Plan, PoolUse
from gpu_pipeline.record import Record
from gpu_pipeline.reports import plan_words as words
from gpu_pipeline.words import count

_NAMED = 4
_MANY = 200


class Cell(Record):
    """`key` is what a column of numbers sorts by; `warns` marks what somebody should look at."""

    text: str
    key: float | None = None
    warns: bool = False


class Column(Record):
    """`is_number` aligns and sorts a column by the keys of its cells; `is_wide`: long texts."""

    text: str
    is_number: bool = False
    is_wide: bool = False


class Row(Record):
    """The first cell names the row; `anchor` is where a link to it leads."""

    cells: tuple[Cell, ...]
    anchor: str = ""


class Table(Record):
    """`groups` are headers above the columns, each with the number of columns below it."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    groups: tuple[tuple[str, int], ...] = ()
    total: Row | None = None
    is_sortable: bool = True

    @property
    def is_long(self) -> bool:
        """Whether it is worth while to lay it out only when it is looked at."""
        return len(self.rows) > _MANY


def texts(*names: str) -> tuple[Column, ...]:
    """Columns of text."""
    return tuple(Column(text=name) for name in names)


def wide(*names: str) -> tuple[Column, ...]:
    """Columns of long texts."""
    return tuple(Column(text=name, is_wide=True) for name in names)


def numbers(*names: str) -> tuple[Column, ...]:
    """Columns of numbers."""
    return tuple(Column(text=name, is_number=True) for name in names)


def number(value: float | None, text: str, *, warns: bool = False) -> Cell:
    """A cell that sorts by its value; a value that is not known comes last."""
    return Cell(text=text, key=value, warns=warns)


def duration(seconds: float) -> Cell:
    """A cell with a time or a duration."""
    return number(seconds, format_duration(seconds))


_JOBS = (
    *texts("Job", "Pool"),
    *numbers("Node", "Slot", "Starts", "Ends", "Takes", "Against alone"),
    *wide("Waits for"),
    *numbers("Alone"),
    *texts("Duration is"),
    *wide("Known from"),
    *numbers("Timeout"),
)


def jobs_table(plan: Plan, caption: str, prefix: str) -> Table:
    """Every job that runs, in the order of creation; anchors are the prefix and a number."""
    return Table(
        caption=caption,
        columns=_JOBS,
        rows=tuple(
            Row(cells=_job(run), anchor=f"{prefix}{key}")
            for key, run in enumerate(plan.schedule.runs)
        ),
    )


def _job(run: Run) -> tuple[Cell, ...]:
    job, alone = run.job, run.job.seconds
    factor = run.slowdown
    timeout = format_duration(job.timeout)
    if run.is_late:
        over = format_duration(run.end - run.picked - job.timeout)
        timeout = f"{timeout} ends it {over} before it is done"
    return (
        Cell(text=job.name),
        Cell(text=job.pool),
        number(run.node, str(run.node)),
        number(run.slot, str(run.slot)),
        duration(run.start),
        duration(run.end),
        duration(run.end - run.start),
        number(factor, words.times(factor)),
        Cell(text=words.waits(run.waits) or "nothing"),
        duration(alone.value),
        Cell(text=alone.source),
        Cell(text=alone.origin),
        number(job.timeout, timeout, warns=run.is_late),
    )


def said_of(row: Row) -> str:
    """A row of the table of jobs in one sentence, for who sees neither the chart nor the table."""
    name, *cells = row.cells
    parts = [f"{column.text} {cell.text}" for column, cell in zip(_JOBS[1:], cells, strict=True)]
    return f"{name.text}: {', '.join(parts)}"


_POOLS = (
    *texts("Pool", "GPU"),
    *numbers("Jobs", "Nodes", "Boot", "Busy", "Idle", "Paid"),
    *numbers("GPU while busy", "GPU of paid time", "Price an hour", "Cost"),
    *numbers("Done after", "At best"),
    *wide("What binds"),
)


def pools_table(plan: Plan, caption: str) -> Table:
    """What each pool does and costs, in node hours, and all together."""
    currency = plan.schedule.workload.currency
    return Table(
        caption=caption,
        columns=_POOLS,
        rows=tuple(Row(cells=_pool(use, currency)) for use in plan.pools),
        total=_all_pools(plan) if len(plan.pools) > 1 else None,
    )


def _pool(use: PoolUse, currency: str) -> tuple[Cell, ...]:
    pool = use.pool
    gpu = pool.gpu if pool.gpus == 1 else f"{pool.gpus} × {pool.gpu}"
    return (
        Cell(text=pool.name),
        Cell(text=gpu or words.UNKNOWN),
        number(use.jobs, str(use.jobs)),
        number(use.nodes, f"{use.nodes} of {pool.max_nodes}"),
        *(
            number(seconds, words.node_hours(seconds))
            for seconds in (use.booting, use.busy, use.idle, use.paid)
        ),
        number(use.gpu_busy, words.share(use.gpu_busy)),
        number(use.gpu_paid, words.share(use.gpu_paid)),
        number(pool.price, words.money(pool.price, currency), warns=pool.price is None),
        number(use.cost, words.money(use.cost, currency), warns=use.cost is None),
        duration(use.end),
        duration(use.bound.seconds),
        Cell(text=str(use.bound.limit)),
    )


def _all_pools(plan: Plan) -> Row:
    uses = plan.pools
    sums = [
        sum(each) for each in zip(*((u.booting, u.busy, u.idle, u.paid) for u in uses), strict=True)
    ]
    bound = plan.bound
    cells = (
        Cell(text="All pools"),
        Cell(text=""),
        Cell(text=str(sum(use.jobs for use in uses))),
        Cell(text=str(sum(use.nodes for use in uses))),
        *(Cell(text=words.node_hours(each)) for each in sums),
        Cell(text=words.share(plan.gpu_busy)),
        Cell(text=words.share(plan.gpu_paid)),
        Cell(text=""),
        Cell(text=words.money(plan.cost, plan.schedule.workload.currency), warns=plan.cost is None),
        Cell(text=format_duration(plan.makespan)),
        Cell(text=format_duration(bound.seconds) if bound else ""),
        Cell(text=words.binds(bound) if bound else ""),
    )
    return Row(cells=cells)


def stuck_table(plan: Plan, caption: str) -> Table:
    """The jobs that never start, and why."""
    return Table(
        caption=caption,
        columns=(*texts("Job", "Pool"), *wide("Why it never starts")),
        rows=tuple(
            Row(cells=(Cell(text=each.job.name), Cell(text=each.job.pool), Cell(text=each.why)))
            for each in plan.schedule.stuck
        ),
    )


def sources_table(plan: Plan, caption: str) -> Table:
    """Every figure that the plan rests on: how far it can be trusted and where it comes from."""
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for what, value, figure, owner in _figures(plan):
        key = (what, value, figure.source.value, figure.origin)
        found.setdefault(key, []).append(owner)
    return Table(
        caption=caption,
        columns=(*texts("Figure", "Value", "It is"), *wide("Known from", "Of")),
        rows=tuple(
            Row(cells=tuple(Cell(text=text) for text in (*key, _some(owners))))
            for key, owners in found.items()
        ),
    )


def _figures(plan: Plan) -> Iterator[tuple[str, str, Figure, str]]:
    workload = plan.schedule.workload
    for job in workload.jobs:
        yield "duration alone", format_duration(job.seconds.value), job.seconds, job.name
    for job in workload.jobs:
        yield "share of a GPU", words.share(job.gpu.value), job.gpu, job.name
    for job in workload.jobs:
        yield "CPU cores", f"{job.cpu.value:g}", job.cpu, job.name
    for pool in (use.pool for use in plan.pools):
        yield from _pool_figures(pool)


def _pool_figures(pool: PlannedPool) -> Iterator[tuple[str, str, Figure, str]]:
    for what, figure in (
        ("boot of a node", pool.boot),
        ("image pull", pool.pull),
        ("idle time before removal", pool.idle),
    ):
        yield what, format_duration(figure.value), figure, pool.name


def _some(names: list[str]) -> str:
    if len(names) <= _NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"


def trust(plan: Plan) -> str:
    """How many of the durations are measured, configured and assumed."""
    jobs = plan.schedule.workload.jobs
    found = Counter(job.seconds.source for job in jobs)
    known = ", ".join(f"{found[source]} {source}" for source in Source if found[source])
    return f"durations of {count(len(jobs), 'job')}: {known}" if jobs else "there are no jobs"
