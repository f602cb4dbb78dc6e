"""Figures and rows of tables in the pages of bench/results."""


def table_row(cells):
    """A row of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def table_rule(columns):
    """The line below the head of a table."""
    return "|---" * columns + "|"


def quotient(over, under):
    """None where either is missing."""
    return None if over is None or under is None else over / under


def digits(value):
    """Three digits of a number, without an exponent."""
    if value == 0 or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.{2 if abs(value) >= 1 else 3}f}"


def grouped(count):
    """A whole number with blanks between its thousands."""
    return f"{count:,}".replace(",", " ")


def bound(line):
    """What a figure is asked to be; empty where nothing is asked."""
    if line["asked"] is None:
        return ""
    return f"{'<=' if line['at_most'] else '>='} {line['asked']:g}"


def line_of(page, number, otherwise):
    """A line of a page that exists, counted from 1; `otherwise` where there is none."""
    lines = page.read_text(encoding="utf-8").splitlines() if page.exists() else []
    return lines[number - 1] if len(lines) >= number else otherwise
