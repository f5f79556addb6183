"""Small pieces of wording that messages share."""


def count(number: int, noun: str) -> str:
    """A number with its noun: "1 job", "19 jobs"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def ordinal(number: int) -> str:
    """The number of something in a row: "second", "third", "12th"."""
    words = ("first", "second", "third", "fourth", "fifth", "sixth")
    if 1 <= number <= len(words):
        return words[number - 1]
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def percent(share: float) -> str:
    """A share as a percentage: "34 %", "0.4 %"."""
    value = share * 100
    return f"{value:.1f} %" if 0 < abs(value) < 1 else f"{value:.0f} %"


def signed_percent(share: float) -> str:
    """A share with its sign, as a percentage: "+12 %", "−3.5 %", "0 %"."""
    value = share * 100
    if abs(value) < 0.05:
        return "0 %"
    return f"{'+' if value > 0 else '−'}{abs(value):.{0 if abs(value) >= 10 else 1}f} %"


def difference(before: float, after: float) -> str:
    """How much `after` is above `before`, in percent: "+12 %", "−3.5 %", "0 %"."""
    if not before:
        return "0 %" if not after else "new"
    return signed_percent(after / before - 1)


def money(amount: float, currency: str) -> str:
    """An amount with its currency, if it has one: "22.90 EUR"."""
    return f"{amount:.2f} {currency}".rstrip()
