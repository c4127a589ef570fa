"""The order of a window's packs: docs/stream.md section 5.4."""

from reference_order import Rng, derive, shuffle


def cost(placed, pack):
    lengths = [p.end - p.begin for p in placed]
    return sum(pack["cost_per_token"] * n + n * n for n in lengths)


def order_packs(packs, candidates, pack, seed, epoch, window):
    """`packs` (lists of Placed) in the order of delivery."""
    if pack["strategy"] in ("sequential", "wrapped"):
        return list(packs)
    rng, packs = Rng(derive(seed, 4, epoch, window)), list(packs)
    balanced = pack["balance"] == "attention"
    if not balanced and not pack["same_kind"]:
        shuffle(packs, rng)
        return packs

    def key(placed):
        other = pack["same_kind"] and not any(candidates[p.candidate].media for p in placed)
        return (other, -cost(placed, pack) if balanced else 0)

    packs.sort(key=key)  # stable
    m = pack["dp_size_multiple"]
    groups = [packs[i : i + m] for i in range(0, len(packs), m)]
    for g in groups:
        shuffle(g, rng)
    shuffle(groups, rng)
    return [p for g in groups for p in g]
