"""Packing settings for a random job, drawn apart from its data: all of them, at odd values, as the job file allows."""

STRATEGIES = [
    *["best_fit_decreasing"] * 3, *["first_fit_decreasing"] * 2, *["wrapped"] * 2, *["spread"] * 2, "sequential",
]
OVER_LONG = ["drop", "truncate_right", "truncate_left", "split", "split"]


def divisors(n, most):
    return [d for d in range(1, min(n, most) + 1) if n % d == 0]


def draw_settings(rng, job):
    """Changes job["pack"] and job["deliver"], which are valid already."""
    pack = job["pack"]
    pack["strategy"] = strategy = rng.choice(STRATEGIES)
    if rng.random() < 0.3:  # so that more samples are too long
        pack["capacity"] = -(-pack["capacity"] // rng.choice([2, 3, 5]))
    pack["over_long"] = rng.choice(OVER_LONG)
    pack["drop_unsupervised"] = rng.random() < 0.25
    job["deliver"]["remainder"] = rng.choice(["spread", "spread", "drop", "repeat"])
    if rng.random() < 0.3:  # the stream does not depend on these
        pack["pad_to_multiple_of"] = rng.choice(divisors(pack["capacity"], 1 << 24))
        pack["pad_id"] = rng.randint(0, 9)
    if strategy == "wrapped":
        pack["over_long"] = rng.choice([*OVER_LONG, "error"])  # no sample is too long there
    else:
        draw_sizes(rng, pack)
    if strategy not in ("sequential", "wrapped"):
        draw_kinds(rng, pack)
    if strategy in ("best_fit_decreasing", "first_fit_decreasing") and rng.random() < 0.3:
        draw_global(rng, job)


def draw_sizes(rng, pack):
    if rng.random() < 0.3:
        pack["sample_multiple_of"] = rng.choice(divisors(pack["capacity"], 64))
    if rng.random() < 0.3:
        pack["max_samples"] = rng.choice([1, 2, 3, 5, 20])


def draw_kinds(rng, pack):
    if rng.random() < 0.3:
        pack["balance"] = "attention"
        pack["cost_per_token"] = rng.choice([0, 1, 100, 1048576])
    pack["same_kind"] = rng.random() < 0.2


def draw_global(rng, job):
    job["pack"]["plan"] = "global"
    job["pack"]["replan_each_epoch"] = rng.random() < 0.5
    if rng.random() < 0.5:
        job["epochs"] = max(2, job["epochs"])


def draw_eval(rng, job):
    if rng.random() < 0.3:
        seed = rng.choice([0, rng.randint(1, 2**63 - 1)])
        job["eval"] = {"fraction": rng.choice([0.001, 0.1, 0.5, 0.9]), "seed": seed}
