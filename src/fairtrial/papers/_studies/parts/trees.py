"""Trees of groups as drawings: who is flagged by the paper's formula, and who validly."""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import escape

BOX, LEVEL, GAP, HEIGHT = 150, 96, 14, 56
INK, LINE = "#1f2933", "#9aa5b1"
FILLS = {
    (False, False): "#ffffff",
    (True, False): "#fbd5d0",
    (False, True): "#cfe8d5",
    (True, True): "#f2a59b",
}
WORDS = {
    (True, True): "flagged by their formula and validly", (True, False): "by their formula alone",
    (False, True): "validly alone", (False, False): "not flagged",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Leaf:
    """A group in a tree: its gap to the target, and who flags it."""

    label: str
    group: str
    n: int
    gap: float | None
    theirs: bool
    valid: bool


def tree_drawing(trees: dict[str, list[list[Leaf]]]) -> str:
    """One tree below the other: the root, the sexes, and each sex's leaves."""
    widest = max(sum(len(leaves) for leaves in nodes[2:]) for nodes in trees.values())
    width = widest * (BOX + GAP) + 2 * GAP
    parts, top = [_legend()], 44.0
    for title, nodes in trees.items():
        parts.append(f'<text x="{GAP}" y="{top + 16}" fill="{INK}" font-weight="bold">{escape(title)}</text>')
        parts += _one_tree(nodes, width, top)
        top += 3 * LEVEL + 12
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top:.0f}" font-family="sans-serif" '
        f'font-size="15"><rect width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>\n'
    )


def _one_tree(nodes: list[list[Leaf]], width: float, top: float) -> list[str]:
    leaves = [leaf for node in nodes[2:] for leaf in node]
    step = width / len(leaves)
    places = [step * (k + 0.5) for k in range(len(leaves))]
    sexes, start = [], 0
    for node in nodes[2:]:
        mine = places[start : start + len(node)]
        sexes.append(sum(mine) / len(mine))
        start += len(node)
    root = sum(sexes) / len(sexes)
    rows = [top, top + LEVEL, top + 2 * LEVEL]
    lines = [_line(root, rows[0], x, rows[1]) for x in sexes]
    start = 0
    for x, node in zip(sexes, nodes[2:], strict=True):
        lines += [_line(x, rows[1], place, rows[2]) for place in places[start : start + len(node)]]
        start += len(node)
    boxes = [_box(root, rows[0], nodes[0][0])]
    boxes += [_box(x, rows[1], leaf) for x, leaf in zip(sexes, nodes[1], strict=True)]
    return lines + boxes + [_box(x, rows[2], leaf) for x, leaf in zip(places, leaves, strict=True)]


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    middle = (y + HEIGHT + to_y) / 2
    path = f"M{x:.1f} {y + HEIGHT:.1f} V{middle:.1f} H{to_x:.1f} V{to_y:.1f}"
    return f'<path d="{path}" fill="none" stroke="{LINE}"/>'


def _box(x: float, y: float, leaf: Leaf) -> str:
    gap = "no gap" if leaf.gap is None else f"{100 * leaf.gap:+.1f} points"
    fill = FILLS[leaf.theirs, leaf.valid]
    return (
        f'<rect x="{x - BOX / 2:.1f}" y="{y:.1f}" width="{BOX}" height="{HEIGHT}" rx="5" fill="{fill}" '
        f'stroke="{LINE}"/>'
        f'<text x="{x:.1f}" y="{y + 23:.1f}" text-anchor="middle" fill="{INK}">{escape(leaf.label)}</text>'
        f'<text x="{x:.1f}" y="{y + 44:.1f}" text-anchor="middle" fill="{INK}">n {leaf.n:,}, {gap}</text>'
    )


def _legend() -> str:
    parts, x = [], float(GAP)
    for key, words in WORDS.items():
        parts.append(f'<rect x="{x}" y="12" width="18" height="18" fill="{FILLS[key]}" stroke="{LINE}"/>')
        parts.append(f'<text x="{x + 26}" y="26" fill="{INK}">{words}</text>')
        x += 26 + 9 * len(words) + 22
    return "".join(parts)
