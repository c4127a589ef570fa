"""The planning functions of tests/reference on examples made by hand from docs/stream.md, section 5."""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
import reference_packing as packing  # noqa: E402
import reference_remainder as remainder  # noqa: E402
from reference_closing import close_window  # noqa: E402
from reference_global import cut_into_windows, plan_epoch  # noqa: E402
from reference_job import pack_settings  # noqa: E402
from reference_order import MASK, Rng, derive, shuffle  # noqa: E402
from reference_pack_order import order_packs  # noqa: E402
from reference_packing import Candidate, Placed  # noqa: E402
from reference_same_kind import close_by_kind, exchange  # noqa: E402


def settings(remainder="spread", **pack):
    return pack_settings({"capacity": 10, **pack}, {"remainder": remainder})


def candidates_of(*tokens):
    """-n is a media sample of n tokens."""
    return [Candidate(abs(n), media=n < 0) for n in tokens]


def places(packs):
    """The candidates of whole samples; those of a repetition as (candidate, k)."""
    return [[(p.candidate, p.repetition) if p.repetition else p.candidate for p in b] for b in packs]


def all_of(sizes):
    return range(len(sizes))


# 5.1


def plan(strategy, sizes, **pack):
    return packing.plan(all_of(sizes), sizes, settings(strategy=strategy, **pack))


def test_best_fit_takes_the_least_room():
    assert plan("best_fit_decreasing", [6, 5, 4, 3, 2]) == [[0, 2], [1, 3, 4]]


def test_of_bins_with_the_same_room_best_fit_takes_the_last_and_first_fit_the_first():
    assert plan("best_fit_decreasing", [7, 7, 3]) == [[0], [1, 2]]
    assert plan("first_fit_decreasing", [7, 7, 3]) == [[0, 2], [1]]


def test_first_fit_passes_over_a_better_fit():
    sizes = [7, 6, 6, 3, 2, 2]  # 7+3, then 2 goes where 4 are left: the first such bin, and the last
    assert plan("first_fit_decreasing", sizes) == [[0, 3], [1, 4, 5], [2]]
    assert plan("best_fit_decreasing", sizes) == [[0, 3], [1], [2, 4, 5]]


def test_sequential_closes_a_bin_for_good():
    assert plan("sequential", [6, 5, 4, 3, 8, 1]) == [[0], [1, 2], [3], [4, 5]]


def test_a_bin_of_max_samples_is_full():
    for strategy, bins in [("best_fit_decreasing", [[0, 1], [2, 3]]), ("first_fit_decreasing", [[0, 1], [2, 3]]),
                           ("sequential", [[0, 1], [2, 3]])]:
        assert plan(strategy, [5, 1, 1, 1], max_samples=2) == bins


def test_sizes_are_rounded_up():
    assert packing.sizes_of(candidates_of(1, 5, 8), settings(capacity=12, sample_multiple_of=4)) == [4, 8, 8]


def test_spreading_takes_the_emptiest_bin_and_fails_where_that_one_is_too_full():
    def spread(sizes, n, **pack):
        return packing.spread_over(all_of(sizes), sizes, n, settings(**pack))

    assert spread([5, 4, 3, 3], 2) == [[0, 3], [1, 2]]
    assert spread([5], 3) == [[0], [], []]
    assert spread([8, 8, 3], 2) is None
    assert spread([5, 1, 1, 1], 2) == [[0], [1, 2, 3]]
    assert spread([5, 1, 1, 1], 2, max_samples=2) == [[0, 3], [1, 2]]  # one that is full is passed over
    assert spread([1] * 5, 2, max_samples=2) is None


# 5.2


def test_the_look_ahead_ends_at_samples_tokens_and_max_samples():
    sizes = [5] * 100

    def cap(s, **pack):
        return packing.furthest(sizes, settings(packs_per_window=4, **pack), 4, s, lambda x: True)

    assert cap(0) == 9  # more than 4 bins
    assert cap(3) == 12
    assert cap(1000) == 17  # more than 8 bins
    assert cap(1000, max_samples=1) == 9
    assert packing.furthest(sizes[:6], settings(packs_per_window=4), 4, 3, lambda x: True) == 6


def test_too_many_bins_are_looked_at_again_from_behind():
    assert packing.furthest([5] * 100, settings(packs_per_window=4), 4, 1000, lambda x: x <= 6) == 6


def close(tokens, **pack):
    return close_window(tokens if isinstance(tokens[0], Candidate) else candidates_of(*tokens), settings(**pack))


@pytest.mark.parametrize("strategy", ["best_fit_decreasing", "first_fit_decreasing"])
def test_the_fullest_bins_are_taken(strategy):
    tokens = [7, 9, 10, 7]
    got = close(tokens, strategy=strategy, packs_per_window=2, lookahead_packs=2)
    assert (places(got.packs), got.considered, got.last) == ([[2], [1]], 4, False)


def test_of_bins_with_the_same_room_those_of_more_samples_are_taken_and_then_the_first():
    got = close([8, 5, 3, 8, 8], packs_per_window=2, lookahead_packs=2)
    assert places(got.packs) == [[0], [1, 2]]


def test_room_counts_in_steps_of_the_capacity():
    pack = {"capacity": 2048, "packs_per_window": 1, "lookahead_packs": 1}
    assert places(close([2046, 2000, 45], **pack).packs) == [[1, 2]]  # rooms of 2 and 3 tokens are one step
    assert places(close([2047, 2000, 45], **pack).packs) == [[0]]


def test_a_bin_that_is_too_old_goes_first():
    waiting = candidates_of(6, 10, 10)
    waiting[0].age = 8
    got = close(waiting, packs_per_window=1, lookahead_packs=3)
    assert (places(got.packs), got.considered) == ([[0]], 3)


def test_too_many_old_bins_are_closed_in_order():
    waiting = candidates_of(6, 6, 6, 4, 10)
    for c in waiting[:3]:
        c.age = 8
    got = close(waiting, packs_per_window=2, lookahead_packs=2)
    assert (places(got.packs), got.considered) == ([[0], [1]], 2)


def test_the_last_window_takes_all():
    got = close([6, 5, 4], packs_per_window=2)
    assert (places(got.packs), got.considered, got.last) == ([[0, 2], [1]], 3, True)
    got = close_window([], settings())
    assert (got.packs, got.last) == ([], True)


def test_sequential_takes_whole_bins():
    got = close([6, 5, 4, 3], strategy="sequential", packs_per_window=2)
    assert (places(got.packs), got.considered, got.last) == ([[0], [1, 2]], 3, False)


def test_spread_takes_the_longest_run_that_spreads():
    got = close([5, 4, 3, 3, 9, 9], strategy="spread", packs_per_window=2)
    assert (places(got.packs), got.considered, got.last) == ([[0, 3], [1, 2]], 4, False)


def test_the_last_window_of_spread_has_the_bins_of_best_fit():
    got = close([5, 4], strategy="spread", packs_per_window=4)
    assert (places(got.packs), got.last) == ([[0, 1]], True)


def test_the_last_window_of_spread_has_no_more_packs_than_a_window():
    """Best fit would need three bins."""
    tokens = [5, 5, 4, 4, 3, 3]  # 5+5, 4+4, 3+3; evenly 5+4+3 twice
    assert len(plan("best_fit_decreasing", tokens, capacity=12)) == 3
    got = close(tokens, strategy="spread", capacity=12, packs_per_window=2)
    assert (places(got.packs), got.last) == ([[0, 2, 4], [1, 3, 5]], True)


def test_wrapped_cuts_and_goes_on():
    got = close([7, 6, 30], strategy="wrapped", capacity=5, packs_per_window=2)
    assert got.packs == [[Placed(0, 0, 5)], [Placed(0, 5, 7), Placed(1, 0, 3)]]
    assert (got.considered, got.cut, got.last) == (1, 3, False)
    waiting = candidates_of(6, 30)
    waiting[0].begin = 3
    got = close(waiting, strategy="wrapped", capacity=5, packs_per_window=1)
    assert got.packs == [[Placed(0, 3, 6), Placed(1, 0, 2)]]
    assert (got.considered, got.cut) == (1, 2)
    got = close([5, 5, 5], strategy="wrapped", capacity=5, packs_per_window=2)
    assert (got.considered, got.cut, got.last) == (2, 0, False)


# same_kind


def test_the_cheaper_exchange_is_made():
    media = [True, False, False, False, True, False]
    assert exchange(list(range(6)), media, 4, 2) == [0, 1, 2, 4]  # a media bin comes, one place lower


def test_of_equal_exchanges_the_media_bins_go():
    assert exchange([0, 1, 2, 3], [True, False, False, True], 2, 2) == [1, 2]


def test_an_exchange_needs_its_bins():
    assert exchange([0, 1, 2, 3], [True, False, True, True], 2, 2) == [0, 2]  # no other bin is left to come
    assert exchange([0, 1, 2], [True, False, False], 2, 2) == [1, 2]  # no media bin is
    assert exchange([0, 1], [True, False], 2, 2) is None
    assert exchange([2, 0, 1], [False, True, True], 2, 2) == [2, 1]  # by bin, in the order of preference
    assert exchange([0, 1, 2], [True, True, False], 2, 2) == [0, 1]  # needless


def same_kind(tokens, **pack):
    return close(tokens, same_kind=True, dp_size_multiple=2, **pack)


def test_a_window_exchanges_bins():
    got = same_kind([-10, 10, 9, -8], packs_per_window=2, lookahead_packs=2)
    assert (places(got.packs), got.considered, got.last) == ([[1], [2]], 4, False)


def test_by_kind_the_last_window_repeats_media_samples():
    got = same_kind([-6, 5, 5, 5], packs_per_window=4)
    assert (places(got.packs), got.last) == ([[0], [(0, 1)], [1, 2], [3]], True)
    got = close_by_kind(candidates_of(-6, -5), settings(same_kind=True, dp_size_multiple=6, packs_per_window=6))
    assert places(got.packs) == [[0], [1], [(0, 1)], [(1, 1)], [(0, 2)], [(1, 2)]]


def test_by_kind_each_kind_has_its_remainder():
    got = same_kind([-6, 5, 5, 5], packs_per_window=4, remainder="drop")
    assert (places(got.packs), places([got.lost])) == ([[1, 2], [3]], [[0]])
    got = same_kind([-6, 10, 10, 5], packs_per_window=6, remainder="repeat")
    assert places(got.packs) == [[0], [(0, 1)], [1], [2], [3], [(1, 1)]]


def test_by_kind_a_window_has_all_its_packs():
    got = same_kind([-6, 10, 10, 10, 10], packs_per_window=4, lookahead_packs=0)
    assert (places(got.packs), got.considered, got.last) == ([[0], [(0, 1)], [1], [2]], 3, False)


def test_too_many_old_bins_are_closed_by_kind():
    waiting = candidates_of(-6, 6, -6, 4, 10)
    for c in waiting[:3]:
        c.age = 8
    got = same_kind(waiting, packs_per_window=2, lookahead_packs=2)
    assert (places(got.packs), got.considered) == ([[0], [(0, 1)]], 1)


def test_by_kind_a_window_takes_as_many_as_its_packs_hold():
    rest = candidates_of(*[10] * 9)
    got = close_by_kind(candidates_of(-10, -10, 6, 4, 3, 10) + rest, settings(
        same_kind=True, dp_size_multiple=4, packs_per_window=8))
    assert (places(got.packs), got.considered) == ([[0], [1], [(0, 1)], [(1, 1)], [5], [6], [2, 3], [4]], 7)
    got = close_by_kind(candidates_of(*[-9] * 3, *[5] * 20), settings(
        same_kind=True, dp_size_multiple=2, packs_per_window=2))
    assert (places(got.packs), got.considered) == ([[0], [1]], 2)


# 5.3


def bring(tokens, bins, m, policy, **pack):
    packs, lost = remainder.bring_to_multiple(
        bins, candidates_of(*tokens), settings(dp_size_multiple=m, remainder=policy, **pack))
    return places(packs), places([lost])[0]


def test_spread_leaves_a_multiple_alone():
    assert bring([2, 3, 5], [[0, 1], [2]], 2, "spread") == ([[0, 1], [2]], [])
    assert bring([], [], 2, "spread") == ([], [])


def test_spread_is_even_where_that_fits():
    assert bring([2, 3, 5], [[0, 1, 2]], 2, "spread") == ([[2], [0, 1]], [])
    assert bring([2], [[0]], 3, "spread") == ([[0], [], []], [])


def test_spread_halves_where_even_does_not_fit():
    sizes = [6, 6, 10, 3, 4, 4, 4, 5, 1, 7, 6, 7, 6, 6, 4, 4, 4, 4, 4, 5, 4, 9]
    pack = settings(capacity=13, dp_size_multiple=10)
    bins = packing.plan(all_of(sizes), sizes, pack)
    assert len(bins) == 9 and packing.spread_over(all_of(sizes), sizes, 10, pack) is None
    assert remainder.spread(bins, sizes, 10, pack) == remainder.halve(bins, sizes, 10)


def test_halving_takes_the_largest_bin_of_several():
    sizes = [5, 3, 2, 9]
    assert remainder.halve([[0, 1, 2], [3]], sizes, 3) == [[0], [3], [1, 2]]
    assert remainder.halve([[0, 1, 2], [3]], sizes, 5) == [[0], [3], [1], [2], []]


def test_sequential_is_cut_where_the_larger_part_is_smallest():
    def cut(sizes, bins, q):
        return remainder.spread(bins, sizes, q, settings(strategy="sequential"))

    assert cut([4, 1, 1, 4], [[0, 1, 2, 3]], 2) == [[0, 1], [2, 3]]
    assert cut([1, 1, 1], [[0, 1, 2]], 2) == [[0], [1, 2]]  # the first such place
    assert cut([2, 2, 9], [[0, 1], [2]], 3) == [[0], [1], [2]]  # the second part stands behind the first
    assert cut([2, 2, 2, 2], [[0, 1], [2, 3]], 3) == [[0], [1], [2, 3]]  # the first of equals
    assert cut([2, 2], [[0, 1]], 4) == [[0], [1], [], []]


def test_drop_loses_the_least_preferred_bins():
    assert bring([10, 6, 9], [[0], [1], [2]], 2, "drop") == ([[0], [2]], [1])
    assert bring([8, 4, 4, 8], [[0], [1, 2], [3]], 2, "drop") == ([[0], [1, 2]], [3])  # most samples, then the first
    assert bring([8], [[0]], 2, "drop") == ([], [0])
    assert bring([10, 6, 9], [[0], [1], [2]], 2, "drop", strategy="sequential") == ([[0], [1]], [2])


def test_repeat_appends_the_first_bins():
    assert bring([4, 4, 4], [[0, 1], [2]], 3, "repeat") == ([[0, 1], [2], [(0, 1), (1, 1)]], [])
    assert bring([4], [[0]], 4, "repeat") == ([[0], [(0, 1)], [(0, 2)], [(0, 3)]], [])
    assert bring([4, 4], [[0], [1]], 5, "repeat") == ([[0], [1], [(0, 1)], [(1, 1)], [(0, 2)]], [])


def wrapped_end(policy):
    return close([7, 6], strategy="wrapped", capacity=5, packs_per_window=4, dp_size_multiple=2, remainder=policy)


def test_the_end_of_wrapped_is_cut_evenly():
    got = wrapped_end("spread")  # 13 tokens, cut at 3, 6 and 9
    assert got.packs == [[Placed(0, 0, 3)], [Placed(0, 3, 6)], [Placed(0, 6, 7), Placed(1, 0, 2)], [Placed(1, 2, 6)]]
    assert got.last and not got.lost


def test_the_end_of_wrapped_is_lost_or_repeated():
    got = wrapped_end("drop")
    assert got.packs == [[Placed(0, 0, 5)], [Placed(0, 5, 7), Placed(1, 0, 3)]]
    assert got.lost == [Placed(1, 3, 6)]
    got = wrapped_end("repeat")
    assert got.packs[2:] == [[Placed(1, 3, 6)], [Placed(0, 0, 5, repetition=1)]]


# 5.4


def one_a_pack(*tokens):
    waiting = candidates_of(*tokens)
    return waiting, packing.whole([[i] for i in range(len(waiting))], waiting)


def ordered(waiting, packs, window=5, **pack):
    return [i for b in places(order_packs(packs, waiting, settings(**pack), 7, 3, window)) for i in b]


def test_packs_are_shuffled_but_for_strategies_that_keep_the_order():
    waiting, packs = one_a_pack(*[1] * 20)
    expected = list(range(20))
    shuffle(expected, Rng(derive(7, 4, 3, 5)))
    assert ordered(waiting, packs) == expected != list(range(20))
    assert ordered(waiting, packs, strategy="spread") == expected
    for strategy in ("sequential", "wrapped"):
        assert ordered(waiting, packs, strategy=strategy) == list(range(20))


def test_balance_makes_groups_of_like_cost():
    waiting, packs = one_a_pack(2, 9, 5, 5, 1, 8)
    got = ordered(waiting, packs, balance="attention", dp_size_multiple=2)
    assert {frozenset(got[i : i + 2]) for i in (0, 2, 4)} == {frozenset(g) for g in [(1, 5), (2, 3), (0, 4)]}
    rng, groups = Rng(derive(7, 4, 3, 5)), [[1, 5], [2, 3], [0, 4]]
    for g in groups:
        shuffle(g, rng)
    shuffle(groups, rng)
    assert got == [i for g in groups for i in g]


def test_the_cost_of_a_token_counts():
    waiting = candidates_of(3, 3, 5, 1, 1, 1, 1, 1, 1, 4)
    packs = packing.whole([[0, 1], [2], [3, 4, 5, 6, 7, 8], [9]], waiting)

    def groups(a):
        got = places(order_packs(packs, waiting, settings(balance="attention", cost_per_token=a, dp_size_multiple=2),
                                 7, 3, 5))
        return {frozenset(b[0] for b in got[i : i + 2]) for i in (0, 2)}

    assert groups(0) == {frozenset([2, 0]), frozenset([9, 3])}  # 25 and 18, 16 and 6
    assert groups(100) == {frozenset([0, 3]), frozenset([2, 9])}  # 618 and 606, 525 and 416


def test_kinds_make_groups_of_one_kind_and_cost_comes_second():
    waiting, packs = one_a_pack(5, -2, 9, -9, -4, 1, -8, 7)
    got = ordered(waiting, packs, same_kind=True, dp_size_multiple=2)
    assert {frozenset(got[i : i + 2]) for i in (0, 2, 4, 6)} == {
        frozenset(g) for g in [(1, 3), (4, 6), (0, 2), (5, 7)]}
    got = ordered(waiting, packs, same_kind=True, balance="attention", dp_size_multiple=2)
    assert {frozenset(got[i : i + 2]) for i in (0, 2, 4, 6)} == {
        frozenset(g) for g in [(3, 6), (4, 1), (2, 7), (0, 5)]}


# 5.5


def test_a_global_plan_is_planned_rounded_and_ordered_once():
    waiting = candidates_of(6, 4, 5, 5, 7, 3, 2)
    expected = [[4, 5], [0, 1], [2, 3], [6]]
    shuffle(expected, Rng(derive(7, 4, 3, MASK)))
    packs, lost = plan_epoch(waiting, settings(plan="global"), 7, 3)
    assert (places(packs), lost) == (expected, [])
    packs, lost = plan_epoch(waiting, settings(plan="global", dp_size_multiple=3, remainder="drop"), 7, 3)
    assert len(packs) == 3 and places([lost]) == [[6]]


def test_a_global_plan_is_spread_by_halving():
    """Evenly it would be 7, 6, 4+5 and 5+3."""
    packs, lost = plan_epoch(candidates_of(6, 4, 5, 5, 7, 3), settings(plan="global", dp_size_multiple=2), 7, 3)
    assert sorted(places(packs)) == [[0, 1], [2, 3], [4], [5]] and not lost


def test_a_global_plan_keeps_kinds_apart():
    packs, lost = plan_epoch(candidates_of(-6, 4, 5, 5), settings(
        plan="global", same_kind=True, dp_size_multiple=2), 7, 3)
    assert sorted(map(str, places(packs))) == ["[(0, 1)]", "[0]", "[1]", "[2, 3]"] and not lost


def test_a_lane_has_a_window_even_without_packs():
    assert cut_into_windows([1, 2, 3, 4, 5], 2, 2) == [[1, 2], [3, 4], [5]]
    assert cut_into_windows([1, 2, 3], 2, 4) == [[1, 2], [3], [], []]
    assert cut_into_windows([], 2, 1) == [[]]


# Laws, on many


def lane(waiting, pack, epoch):
    """The windows of a lane: lists of packs in the order of delivery, each with its candidates; and what is lost."""
    index, lost = 0, []
    while True:
        closing = close_window(waiting, pack)
        packs = order_packs(closing.packs, waiting, pack, 7, epoch, index)
        yield closing, [[(waiting[p.candidate], p) for p in b] for b in packs]
        gone = {p.candidate for b in closing.packs for p in b} | {p.candidate for p in closing.lost}
        assert not closing.last or len(gone) == len(waiting)
        if closing.last:
            return
        waiting = [c for i, c in enumerate(waiting) if i not in gone]
        index += 1


@pytest.mark.parametrize("number", range(150))
def test_a_lane_of_both_kinds_keeps_the_laws(number):
    """Each sample once, all windows full but the last, the packs of a step of one kind, none beyond its limits."""
    rng = random.Random(number)
    m = rng.choice([1, 2, 3, 4])
    pack = settings(
        capacity=12, strategy=rng.choice(["best_fit_decreasing", "first_fit_decreasing", "spread"]), same_kind=True,
        dp_size_multiple=m, packs_per_window=m * rng.choice([2, 3, 4]), lookahead_packs=rng.choice([0, 3, 8]),
        lookahead_samples_max=rng.choice([3, 50]), max_samples=rng.choice([0, 1, 3]),
        sample_multiple_of=rng.choice([1, 3]), balance=rng.choice(["none", "attention"]),
        remainder=rng.choice(["spread", "drop", "repeat"]))
    share = rng.choice([0, 0.05, 0.3, 0.9, 1])
    samples = candidates_of(*(rng.choice([rng.randint(1, 12), 4]) * (-1 if rng.random() < share else 1)
                              for _ in range(rng.randint(0, 120))))
    once, lost = [], []
    for closing, packs in lane(samples, pack, number):
        assert len(packs) % m == 0
        assert len(packs) == pack["packs_per_window"] or closing.last and len(packs) < pack["packs_per_window"]
        for i in range(0, len(packs), m):
            kinds = [any(c.media for c, _ in b) for b in packs[i : i + m]]
            assert len(set(kinds)) == 1
            assert not kinds[0] or all(packs[i : i + m])
        for b in packs:
            assert sum(packing.sizes_of([c for c, _ in b], pack)) <= 12
            assert not pack["max_samples"] or len(b) <= pack["max_samples"]
            once += [id(c) for c, p in b if p.repetition == 0]
        lost += closing.lost
    assert len(once) == len(set(once)) and len(once) + len(lost) == len(samples)
    assert not lost or pack["remainder"] == "drop"
