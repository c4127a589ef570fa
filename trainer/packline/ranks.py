"""Which rank this process is: read from the launcher's environment at the time of connecting,
because a restart may give a process another rank."""

from __future__ import annotations

import os
import time
from typing import Mapping, NamedTuple, Optional

from .errors import WrongRank

# (rank, world size) as launchers set them; the first pair that is complete counts.
_PAIRS = (
    ("RANK", "WORLD_SIZE"),  # torchrun, deepspeed, accelerate
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
_RESTARTS = ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT")


class World(NamedTuple):
    """A global rank, how many there are, and the variable that said so ("" without a launcher)."""

    rank: int
    size: int
    said_by: str


class Rank(NamedTuple):
    """A subscriber's identity: which sink, and which of the ranks that share it."""

    dp_rank: int
    peer: int


class Session(NamedTuple):
    """One life of a trainer rank, ordered: a later life has the higher value."""

    restart: int
    start_ms: int
    random: int


def world(env: Optional[Mapping[str, str]] = None) -> World:
    """Rank and world size of this process; (0, 1) without a launcher. WrongRank on nonsense."""
    env = os.environ if env is None else env
    for rank_name, size_name in _PAIRS:
        if rank_name in env and size_name in env:
            rank, size = _number(env, rank_name), _number(env, size_name)
            if not 0 <= rank < size:
                raise WrongRank(
                    f"{rank_name}={rank} with {size_name}={size} is no rank: "
                    "ranks count from 0 to the world size - 1; look at what launched this process"
                )
            return World(rank, size, rank_name)
    return World(0, 1, "")


def resolve(
    dp_size: int,
    ranks_per_dp_rank: int,
    dp_rank: Optional[int] = None,
    peer: Optional[int] = None,
    env: Optional[Mapping[str, str]] = None,
) -> Rank:
    """The sink and the place there of this process. An explicit `dp_rank` wins over the
    environment; otherwise dp_rank = rank // ranks_per_dp_rank and a world that is not
    dp_size * ranks_per_dp_rank is refused."""
    if dp_rank is not None:
        if peer is None and ranks_per_dp_rank > 1:
            raise WrongRank(
                f"{ranks_per_dp_rank} ranks share each dp_rank of this job "
                f"(deliver.ranks_per_dp_rank): PackStream(..., dp_rank={dp_rank}) also needs "
                f"peer=0..{ranks_per_dp_rank - 1}, another one for each of them"
            )
        chosen = Rank(dp_rank, peer or 0)
        if not 0 <= chosen.dp_rank < dp_size or not 0 <= chosen.peer < ranks_per_dp_rank:
            raise WrongRank(
                f"dp_rank {chosen.dp_rank}, peer {chosen.peer} has no place in this job: it has "
                f"dp_rank 0..{dp_size - 1} and peer 0..{ranks_per_dp_rank - 1} "
                "(deliver.dp_size, deliver.ranks_per_dp_rank)"
            )
        return chosen
    here = world(env)
    if here.size != dp_size * ranks_per_dp_rank:
        source = f"{here.said_by} and its world size" if here.said_by else "no launcher's variables"
        raise WrongRank(
            f"this world has {here.size} ranks ({source}), the job has deliver.dp_size {dp_size} x "
            f"deliver.ranks_per_dp_rank {ranks_per_dp_rank} = {dp_size * ranks_per_dp_rank}: start "
            "that many ranks, set the job's two numbers, or give PackStream(..., dp_rank=...)"
        )
    return Rank(here.rank // ranks_per_dp_rank, here.rank % ranks_per_dp_rank)


def new_session(env: Optional[Mapping[str, str]] = None) -> Session:
    """A session above every earlier one of this process and, with the launcher's restart count or
    the clock, above those of its former lives."""
    global _last_start_ms
    env = os.environ if env is None else env
    restart = 0
    for name in _RESTARTS:
        if env.get(name, "").isdigit():
            restart = int(env[name])
            break
    _last_start_ms = max(int(time.time() * 1000), _last_start_ms + 1)
    return Session(restart, _last_start_ms, int.from_bytes(os.urandom(8), "little"))


_last_start_ms = 0


def _number(env: Mapping[str, str], name: str) -> int:
    try:
        return int(env[name])
    except ValueError:
        raise WrongRank(
            f"{name}={env[name]!r} is not a number: look at what launched this process"
        ) from None
