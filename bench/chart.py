"""The table of bench/run as a picture: how far each row is from what it must reach, as SVG without outside assets."""

import math
from html import escape

ROW, LEFT, WIDTH, RIGHT, TOP = 22, 250, 420, 190, 56
STYLE = """\
svg { background: #fff; color: #1b1f24; font: 12px system-ui, sans-serif; }
text { fill: currentColor; } .met { fill: #2f6f4f; } .missed { fill: #b3402e; } .must { stroke: currentColor; }
@media (prefers-color-scheme: dark) { svg { background: #14171a; color: #e6e8ea; } .met { fill: #6fbf95; } .missed { fill: #f08a76; } }
"""
DECADES = 1.5  # to either side of what must be reached


def _reach(row):
    """How good it is beside what it must be, log10: above 0 is met."""
    value, must = row["value"], row["must"]
    if value == must or value <= 0 or must <= 0:
        return 0.0
    reach = math.log10(value / must)
    return max(-DECADES, min(DECADES, reach if row["at_least"] else -reach))


def chart(result):
    """result: what bench/run writes as JSON."""
    rows, middle = result["rows"], LEFT + WIDTH / 2
    height = TOP + ROW * len(rows) + 34
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{height}" role="img">',
        f"<title>bench/run, {escape(result['date'])}</title><style>{STYLE}</style>",
        f'<text x="12" y="20">bench/run, {escape(result["date"])}</text>',
        f'<text x="12" y="38">{escape(result["machine"])}; {result["rounds"]} rounds in turns</text>',
    ]
    for i, row in enumerate(rows):
        y, reach = TOP + i * ROW, _reach(row) * WIDTH / 2 / DECADES
        sign, kind = "≥" if row["at_least"] else "≤", "met" if row["met"] else "missed"
        said = f"{row['value']:.3g} (must {sign} {row['must']:.3g}) {'' if row['met'] else 'missed'}"
        out += [
            f'<text x="{LEFT - 10}" y="{y + 15}" text-anchor="end">{escape(row["name"])}</text>',
            f'<rect class="{kind}" x="{min(middle, middle + reach):.1f}" y="{y + 3}" width="{max(2, abs(reach)):.1f}" '
            f'height="{ROW - 7}"/>',
            f'<text x="{LEFT + WIDTH + 8}" y="{y + 15}">{escape(said)}</text>',
        ]
    bottom = TOP + ROW * len(rows)
    out += [
        f'<line class="must" x1="{middle}" x2="{middle}" y1="{TOP - 4}" y2="{bottom + 4}"/>',
        f'<text x="{middle}" y="{bottom + 20}" text-anchor="middle">what it must reach; to the right: better, '
        "logarithmic</text></svg>\n",
    ]
    return "\n".join(out)
