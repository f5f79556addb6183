"""Small pieces of wording that messages share."""


def count(number: int, noun: str) -> str:
    """A number with its noun: "1 job", "19 jobs"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
