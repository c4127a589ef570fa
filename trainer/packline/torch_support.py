"""What torch's DataLoader must know of a stream. Torch is never imported here: if the program has
not, there is no DataLoader to tell."""

from __future__ import annotations

import importlib.util
import sys
from typing import Optional

_WRAPPERS = {
    "IterableDatasetShard": "it keeps only every n-th pack of this rank's own stream",
    "DataLoaderDispatcher": "it deals rank 0's stream to all ranks and never opens theirs",
}
_FRAMES_LOOKED_AT = 16


def register(cls: type) -> None:
    """Makes `isinstance(x, IterableDataset)` true for instances of `cls`, by which a DataLoader
    tells that it must iterate. IterableDataset's metaclass is an ABCMeta in every torch since
    1.2."""
    data = sys.modules.get("torch.utils.data")
    base = getattr(data, "IterableDataset", None)
    enroll = getattr(base, "register", None)
    if enroll is not None and not getattr(cls, "_enrolled", False):
        cls._enrolled = True  # before the call, which asks for the class of instances
        enroll(cls)


def installed() -> bool:
    return "torch" in sys.modules or importlib.util.find_spec("torch") is not None


def require(layout: str) -> None:
    """ImportError where a layout of tensors cannot be made."""
    if not installed():
        raise ImportError(
            f'layout "{layout}" makes torch tensors and torch is not installed: install it, or '
            'take PackStream(..., layout="numpy")'
        )


def worker_id() -> Optional[int]:
    """The number of the DataLoader worker that this process is, or None."""
    data = sys.modules.get("torch.utils.data")
    info = data.get_worker_info() if data is not None and hasattr(data, "get_worker_info") else None
    return None if info is None else info.id


def wrapper_that_takes_packs() -> str:
    """A clause about the loader of accelerate or transformers, among the callers, that would take
    packs away from this rank; "" when there is none. Told by the callers' classes, because such a
    loader leaves no other trace but packs that nobody trains on."""
    frame = sys._getframe(1)
    for _ in range(_FRAMES_LOOKED_AT):
        frame = frame.f_back
        if frame is None:
            return ""
        caller = frame.f_locals.get("self") if frame.f_code.co_name == "__iter__" else None
        name = type(caller).__name__
        shards = getattr(caller, "num_processes", 2) > 1 if caller is not None else False
        if name in _WRAPPERS and shards:
            return f"{name}: {_WRAPPERS[name]}"
    return ""
