"""Trees of groups as drawings: who is flagged by the paper's formula, and who validly."""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import escape

BOX, LEVEL, GAP, HEIGHT, STEP = 160, 214, 14, 56, 66
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
    """Trees side by side, each from the root on the left to the leaves of both sexes on the right."""
    most = max(sum(map(len, nodes[2:])) for nodes in trees.values())
    each = 2 * LEVEL + BOX + 3 * GAP
    width, height = each * len(trees), 70 + most * STEP
    parts = [_legend()]
    for place, (title, nodes) in enumerate(trees.items()):
        left = place * each + GAP
        parts.append(f'<text x="{left}" y="60" fill="{INK}" font-weight="bold">{escape(title)}</text>')
        parts += _one_tree(nodes, left, 66.0)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="15"><rect width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>\n'
    )


def _one_tree(nodes: list[list[Leaf]], left: float, top: float) -> list[str]:
    """Every box stands in the middle of those that follow from it."""
    leaves = [leaf for node in nodes[2:] for leaf in node]
    places = [top + STEP * (k + 0.5) for k in range(len(leaves))]
    columns = [left + BOX / 2 + level * LEVEL for level in range(3)]
    lines, sexes, start = [], [], 0
    for node in nodes[2:]:
        mine = places[start : start + len(node)]
        sexes.append(sum(mine) / len(mine))
        lines += [_line(columns[1], sexes[-1], columns[2], place) for place in mine]
        start += len(node)
    root = sum(sexes) / len(sexes)
    lines += [_line(columns[0], root, columns[1], y) for y in sexes]
    boxes = [_box(columns[0], root, nodes[0][0])]
    boxes += [_box(columns[1], y, leaf) for y, leaf in zip(sexes, nodes[1], strict=True)]
    return lines + boxes + [_box(columns[2], y, leaf) for y, leaf in zip(places, leaves, strict=True)]


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    start, end = x + BOX / 2, to_x - BOX / 2
    path = f"M{start:.1f} {y:.1f} H{(start + end) / 2:.1f} V{to_y:.1f} H{end:.1f}"
    return f'<path d="{path}" fill="none" stroke="{LINE}"/>'


def _box(x: float, y: float, leaf: Leaf) -> str:
    gap = "no gap" if leaf.gap is None else f"{100 * leaf.gap:+.1f} points"
    fill, top = FILLS[leaf.theirs, leaf.valid], y - HEIGHT / 2
    return (
        f'<rect x="{x - BOX / 2:.1f}" y="{top:.1f}" width="{BOX}" height="{HEIGHT}" rx="5" fill="{fill}" '
        f'stroke="{LINE}"/>'
        f'<text x="{x:.1f}" y="{top + 23:.1f}" text-anchor="middle" fill="{INK}">{escape(leaf.label)}</text>'
        f'<text x="{x:.1f}" y="{top + 44:.1f}" text-anchor="middle" fill="{INK}">n {leaf.n:,}, {gap}</text>'
    )


def _legend() -> str:
    parts, x = [], float(GAP)
    for key, words in WORDS.items():
        parts.append(f'<rect x="{x}" y="12" width="18" height="18" fill="{FILLS[key]}" stroke="{LINE}"/>')
        parts.append(f'<text x="{x + 26}" y="26" fill="{INK}">{words}</text>')
        x += 26 + 9 * len(words) + 22
    return "".join(parts)
