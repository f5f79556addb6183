"""The geometry of a Gantt chart: what stands where.

Along the time axis everything is a share of the chart's width, in percent, so that the chart is
right at any width; heights are pixels. Nothing here knows HTML.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpu_pipeline.durations import format_duration
from gpu_pipeline.plan.model import NodeLife, Run
from gpu_pipeline.plan.summary import Plan, PoolUse
from gpu_pipeline.record import Record
from gpu_pipeline.reports.gantt_axis import ZOOMS_WITH_TICKS, Step, Tick, ticks_of, use_steps

HEAD, USE, LANE, GAP = 34, 44, 22, 8
BAR = LANE - 4
COLOURS = 6
# A pool may allow far more jobs at once than ever run; that many empty slots are still drawn.
_EMPTY_SLOTS = 8
# A text needs about as much of a chart that fills a screen, in percent.
_READABLE = 3.0


class Bar(Record):
    """One job; `cut` is where within the bar its timeout ends the job, None if it does not.

    `zoom` is the least magnification at which there is room for its name.
    """

    key: int
    run: Run
    x: float
    width: float
    y: int
    zoom: int
    colour: int
    cut: float | None


class Phase(Record):
    """A time in which a node is paid for and nothing runs: `boot` or `idle`."""

    kind: str
    x: float
    width: float
    y: int
    height: int
    zoom: int
    text: str


class NodeTrack(Record):
    """The life of a node behind the bars of its slots, from creation to removal."""

    number: int
    slots: tuple[int, ...]
    x: float
    width: float
    y: int
    height: int
    phases: tuple[Phase, ...]


class PoolLanes(Record):
    """A pool: its GPUs over time, then its nodes. `peak` is the most GPUs there were at once."""

    use: PoolUse
    y: int
    use_y: int
    peak: int
    paid: tuple[Step, ...]
    busy: tuple[Step, ...]
    nodes: tuple[NodeTrack, ...]
    bars: tuple[Bar, ...]


class Chart(Record):
    """All pools of a plan on one time axis of `span` seconds; `end` is where the last job ends."""

    span: float
    height: int
    end: float
    ticks: tuple[Tick, ...]
    pools: tuple[PoolLanes, ...]


def span_of(plans: Sequence[Plan]) -> float:
    """Seconds that a chart has to show: until the last node of all plans is removed."""
    ends = [plan.makespan for plan in plans]
    ends += [node.removed for plan in plans for node in plan.schedule.nodes]
    return max(ends, default=0.0) or 1.0


def colours_of(plans: Sequence[Plan]) -> dict[str, int]:
    """A number for each family, the same in all plans; there are COLOURS of them."""
    families = dict.fromkeys(job.family for plan in plans for job in plan.schedule.workload.jobs)
    return {family: n % COLOURS for n, family in enumerate(families)}


def gantt(plan: Plan, *, span: float, colours: Mapping[str, int]) -> Chart:
    """The chart of a plan. A bar's key is the place of its run among the runs of the plan."""
    pools = []
    y = 0
    runs: dict[str, list[tuple[int, Run]]] = {}
    for key, run in enumerate(plan.schedule.runs):
        runs.setdefault(run.job.pool, []).append((key, run))
    lives: dict[str, list[NodeLife]] = {}
    for node in plan.schedule.nodes:
        lives.setdefault(node.pool, []).append(node)
    for use in plan.pools:
        name = use.pool.name
        lanes = _pool(
            use,
            lives=lives.get(name, []),
            runs=runs.get(name, []),
            top=y,
            span=span,
            colours=colours,
        )
        pools.append(lanes)
        last = lanes.nodes[-1] if lanes.nodes else None
        y = last.y + last.height + GAP if last else lanes.use_y + USE
    return Chart(
        span=span,
        height=y,
        end=_share(plan.makespan, span),
        ticks=ticks_of(span),
        pools=tuple(pools),
    )


def _share(seconds: float, span: float) -> float:
    return 100 * seconds / span


def _zoom_for(width: float) -> int:
    able = (zoom for zoom in ZOOMS_WITH_TICKS if width * zoom >= _READABLE)
    return next(able, ZOOMS_WITH_TICKS[-1])


def _pool(
    use: PoolUse,
    *,
    lives: Sequence[NodeLife],
    runs: Sequence[tuple[int, Run]],
    top: int,
    span: float,
    colours: Mapping[str, int],
) -> PoolLanes:
    highest: dict[int, int] = {}
    for _, run in runs:
        highest[run.node] = max(highest.get(run.node, 0), run.slot)
    nodes = []
    y = top + HEAD + USE
    for life in lives:
        slots = max(highest.get(life.number, 0), min(use.pool.concurrency, _EMPTY_SLOTS))
        nodes.append(_track(life, slots, y, span))
        y += nodes[-1].height + GAP
    tops = {node.number: node.y for node in nodes}
    ordered = sorted(runs, key=lambda each: (each[1].node, each[1].slot, each[1].start))
    gpus = use.pool.gpus
    paid = use_steps((life.created, life.removed, gpus) for life in lives)
    busy = use_steps(
        (each.start, each.end, each.gpu * gpus) for life in lives for each in life.stretches
    )
    return PoolLanes(
        use=use,
        y=top,
        use_y=top + HEAD,
        peak=round(max((step.value for step in paid), default=0.0)),
        paid=paid,
        busy=busy,
        nodes=tuple(nodes),
        bars=tuple(
            _bar(key, run, tops[run.node] + (run.slot - 1) * LANE, span, colours)
            for key, run in ordered
        ),
    )


def _track(life: NodeLife, slots: int, y: int, span: float) -> NodeTrack:
    return NodeTrack(
        number=life.number,
        slots=tuple(range(1, slots + 1)),
        x=_share(life.created, span),
        width=_share(life.removed - life.created, span),
        y=y,
        height=slots * LANE,
        phases=tuple(
            Phase(
                kind=kind,
                x=_share(start, span),
                width=_share(end - start, span),
                y=y,
                height=slots * LANE,
                zoom=_zoom_for(_share(end - start, span)),
                text=f"{life.pool}, node {life.number}: {what} for {format_duration(end - start)}, "
                f"from {format_duration(start)} to {format_duration(end)}",
            )
            for kind, what, start, end in _phases(life)
            if end > start
        ),
    )


def _phases(life: NodeLife) -> Iterator[tuple[str, str, float, float]]:
    yield "boot", "boots and pulls the image", life.created, min(life.ready, life.removed)
    for each in life.stretches:
        if not each.jobs:
            yield "idle", "idle", each.start, each.end


def _bar(key: int, run: Run, y: int, span: float, colours: Mapping[str, int]) -> Bar:
    cut = None
    if run.is_late:
        allowed = run.picked + run.job.timeout - run.start
        cut = 100 * max(allowed, 0.0) / (run.end - run.start)
    return Bar(
        key=key,
        run=run,
        x=_share(run.start, span),
        width=_share(run.end - run.start, span),
        y=y + (LANE - BAR) // 2,
        zoom=_zoom_for(_share(run.end - run.start, span)),
        colour=colours[run.job.family],
        cut=cut,
    )
