"""Lines on logarithmic axes as a picture (SVG 1.1), readable on light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 420, 300  # of a panel, in pixels
PAD_LEFT, PAD_RIGHT, PAD_TOP, PAD_BOTTOM = 56, 16, 30, 44  # pixels around the lines
KEY = 18  # a line of the legend


@dataclass(frozen=True, slots=True)
class Line:
    label: str
    colour: str
    values: Sequence[float]  # above 0, one for each x


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    lines: Sequence[Line]


def chart(x_label: str, xs: Sequence[float], panels: Sequence[Panel]) -> str:
    height = HEIGHT + 10 + KEY * max(len(panel.lines) for panel in panels)
    drawn = "".join(
        f'<g transform="translate({number * WIDTH} 0)">{_panel(x_label, xs, panel)}</g>\n'
        for number, panel in enumerate(panels)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * len(panels)} {height}"'
        f' width="{WIDTH * len(panels)}" height="{height}" font-family="system-ui, sans-serif" '
        'font-size="12">\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{drawn}</svg>\n'
    )


def _panel(x_label: str, xs: Sequence[float], panel: Panel) -> str:
    every = [value for line in panel.lines for value in line.values]
    low, high = math.floor(math.log10(min(every))), math.ceil(math.log10(max(every)))
    first, last = math.log10(min(xs)), math.log10(max(xs))

    def x(value: float) -> float:
        return PAD_LEFT + (math.log10(value) - first) / max(last - first, 1e-9) * (
            WIDTH - PAD_LEFT - PAD_RIGHT
        )

    def y(value: float) -> float:
        return (
            HEIGHT
            - PAD_BOTTOM
            - (math.log10(value) - low) / max(high - low, 1) * (HEIGHT - PAD_TOP - PAD_BOTTOM)
        )

    middle = (PAD_LEFT + WIDTH - PAD_RIGHT) / 2
    baseline = HEIGHT - PAD_BOTTOM + 18
    parts = [f'<text x="{PAD_LEFT}" y="18" font-weight="600" fill="#111827">{panel.title}</text>']
    for power in range(low, high + 1):
        at = y(10.0**power)
        parts.append(f'<path d="M{PAD_LEFT} {at:.1f}H{WIDTH - PAD_RIGHT}" stroke="#e5e7eb"/>')
        parts.append(
            f'<text x="{PAD_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end" '
            f'fill="#4b5563">{_short(10.0**power)}</text>'
        )
    for value in xs:
        parts.append(
            f'<text x="{x(value):.1f}" y="{baseline}" text-anchor="middle" '
            f'fill="#4b5563">{_short(value)}</text>'
        )
    parts.append(
        f'<text x="{middle:.0f}" y="{HEIGHT - 8}" text-anchor="middle" fill="#4b5563">{x_label}</text>'
    )
    for number, line in enumerate(panel.lines):
        points = [(x(value), y(amount)) for value, amount in zip(xs, line.values, strict=True)]
        path = " ".join(f"{across:.1f},{down:.1f}" for across, down in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{line.colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3" fill="{line.colour}"/>'
            for across, down in points
        ]
        down = HEIGHT + 10 + KEY * number
        parts.append(f'<path d="M{PAD_LEFT} {down}h18" stroke="{line.colour}" stroke-width="2"/>')
        parts.append(f'<text x="{PAD_LEFT + 26}" y="{down + 4}" fill="#111827">{line.label}</text>')
    return "".join(parts)


def _short(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
