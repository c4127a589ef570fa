"""A job file as the reference reads it: written as JSON, with the defaults that matter to the stream."""

import json
import pathlib

PACK = {
    "capacity": 8192, "strategy": "best_fit_decreasing", "plan": "streaming", "replan_each_epoch": False,
    "packs_per_window": 256, "lookahead_samples_max": 256, "lookahead_windows_max": 8, "max_samples": 0,
    "sample_multiple_of": 1, "over_long": "drop", "drop_unsupervised": False, "balance": "none", "cost_per_token": 0,
    "same_kind": False,
}


def pack_settings(pack, deliver):
    """The keys of `pack`, and deliver.remainder among them."""
    settings = {**PACK, "dp_size_multiple": deliver.get("dp_size", 1), **pack}
    settings.setdefault("lookahead_packs", settings["packs_per_window"])
    settings["remainder"] = deliver.get("remainder", "spread")
    return settings


EVAL_EPOCHS = 2  # of a split without end so many are compared


def become_eval(job):
    """The job of the records that are set aside (docs/stream.md section 3, "Evaluation")."""
    job |= {"epochs": EVAL_EPOCHS, "shuffle": {"kind": "none"}, "lanes": 1}
    job["sources"] = [{k: v for k, v in s.items() if k not in ("weight", "repeat")} for s in job["sources"]]
    job["pack"] |= {"plan": "streaming", "balance": "none"}
    job["deliver"]["remainder"] = "spread"


def load_job(path, split="train"):
    path = pathlib.Path(path)
    job = json.loads(path.read_text(encoding="utf-8"))
    job.setdefault("seed", 0)
    job.setdefault("epochs", 1)
    job.setdefault("lanes", 4)
    job.setdefault("shuffle", {"kind": "full"})
    job["encode"] = {"add_bos": False, "add_eos": True, "train": "assistant", **job["encode"]}
    job["deliver"] = {"dp_size": 1, **job.get("deliver", {})}
    job["split"] = split
    job.setdefault("pack", {})
    if split == "eval":
        become_eval(job)
    job["pack"] = pack_settings(job["pack"], job["deliver"])
    job["folder"] = path.resolve().parent
    return job
