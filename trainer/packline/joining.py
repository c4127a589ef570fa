"""How a stream finds its sink, and what it holds against the sink's welcome before it takes a
pack."""

from __future__ import annotations

from typing import NamedTuple, Optional

from .cursor import Cursor, Saved, first_difference
from .errors import BadState, OtherJob, OtherStreamVersion, WrongRank
from .line import Line, checked, find_line, sink_of
from .ranks import Rank, resolve
from .wire import Welcome


class Way(NamedTuple):
    """To one sink: as whom, where, and what the line said of itself (None: endpoint was given)."""

    rank: Rank
    endpoint: str
    line: Optional[Line]
    split: str = "train"

    @property
    def says_done(self) -> bool:
        """Whether the end is this rank's to tell. A line that evaluates beside its training ends
        with that, by its launcher; roles that were started by hand have no launcher."""
        return self.split == "train" or self.line is None or not self.line.has_launcher

    @property
    def dp_size(self) -> int:
        """As the line says it; 0 when only the sink knows."""
        return self.line.dp_size if self.line else 0


def find_way(
    job: str,
    dp_rank: Optional[int],
    peer: Optional[int],
    endpoint: Optional[str],
    split: str = "train",
) -> Way:
    """Reads the environment and, without an endpoint, the line's file. NoLine (also for an endpoint
    that is no address), WrongRank, OtherJob."""
    if endpoint is not None:
        return Way(Rank(dp_rank, peer or 0), checked(endpoint), None, split)
    line = find_line(job, split=split)
    rank = resolve(line.dp_size, line.ranks_per_dp_rank, dp_rank, peer)
    return Way(rank, sink_of(line, rank.dp_rank), line, split)


def check_welcome(way: Way, welcome: Welcome) -> None:
    """The sink serves the line that was looked for, and has a place for this rank."""
    line, rank = way.line, way.rank
    served = welcome.identity.get("split", "train")
    if served != way.split:
        raise OtherJob(
            f"the sink at {way.endpoint} serves split: {served} of its job, and this stream is "
            f"PackStream(..., split={way.split!r}): give it that split, or the address of another "
            "sink"
        )
    if line is not None:
        said = (line.dp_size, line.ranks_per_dp_rank)
        serves = (welcome.dp_size, welcome.ranks_per_dp_rank)
        if said != serves:
            raise WrongRank(
                f"the job has (dp_size, ranks_per_dp_rank) {said}, its line was started with "
                f"{serves}: start the line again"
            )
    resolve(welcome.dp_size, welcome.ranks_per_dp_rank, rank.dp_rank, rank.peer)


def start_cursor(saved: Optional[Saved], welcome: Welcome) -> Cursor:
    """Where to begin: the checkpoint's cursor, after it was found to be of this line's job."""
    if saved is None or saved.job == "":
        return welcome.start
    if saved.stream_version != welcome.stream_version:
        raise OtherStreamVersion(
            f"the checkpoint's stream_version is {saved.stream_version}, this line's is "
            f"{welcome.stream_version}: its packs would differ. Go on with the packline that wrote "
            "the checkpoint, or start the data anew"
        )
    if saved.job != f"{welcome.job:016x}":
        setting = first_difference(welcome.identity, saved.identity)
        setting = setting or f"its fingerprint is {welcome.job:016x}, was {saved.job}"
        raise OtherJob(
            f"this line serves another job than the checkpoint's: {setting}. Set it back to go on "
            "from the checkpoint, or start the data anew"
        )
    if len(saved.cursor.lanes) != len(welcome.start.lanes):
        raise BadState(
            f"the checkpoint has {len(saved.cursor.lanes)} lanes, its job has "
            f"{len(welcome.start.lanes)}: it was cut or changed by hand"
        )
    return saved.cursor


def packs_of_epoch(welcome: Welcome, epoch: int) -> int:
    """Packs of one rank in that epoch, 0 behind the job's last. TypeError where the line does not
    know before it has made them: what len() raises of a stream, and list() and loaders expect."""
    if epoch >= welcome.epochs:
        return 0
    if welcome.packs_per_epoch == 0:
        raise TypeError(
            "how many packs an epoch has is not known before they are made: pack.plan: streaming "
            "plans them window by window. `packline count JOB` counts them, and pack.plan: global "
            "knows them"
        )
    return welcome.packs_per_epoch // welcome.dp_size
