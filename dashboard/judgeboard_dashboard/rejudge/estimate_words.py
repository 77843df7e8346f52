"""What an estimate says before a job is asked for."""

from judgeboard.jobs import CallEstimate
from judgeboard_dashboard.amounts import duration, money
from judgeboard_dashboard.words import count


def lead(estimate: CallEstimate) -> str:
    """Return the calls with what they cost and take, as far as it is known: "61 calls, about $ 0.09 and 40 s."."""
    if not estimate.calls:
        return "Nothing to ask."
    took = None if estimate.seconds is None or estimate.seconds < 0.5 else duration(estimate.seconds)
    if estimate.model is None:
        return f"{count(estimate.calls, 'answer')}, offline: no cost{f', about {took}' if took else ''}."
    calls = count(estimate.calls, "call")
    if estimate.cost_micro is not None:
        return f"{calls}, about {money(estimate.cost_micro)}{f' and {took}' if took else ''}."
    time = f", about {took}" if took else ""
    if not estimate.priced:
        return f"{calls}{time}, cost unknown: no price for {estimate.model}."
    return f"{calls}{time}; the first of them will tell what one costs."


def details(estimate: CallEstimate) -> str:
    """Return what the numbers rest on, and what becomes of the old verdicts."""
    if not estimate.calls:
        return "No answer is selected: choose other rows, or another judge."
    said = []
    if estimate.tokens is not None:
        said.append(f"From {estimate.tokens:,.0f} tokens an answer in its latest verdicts.")
    if estimate.continues is not None:
        said.append(f"Goes on with run {estimate.continues}, which was not finished.")
    if estimate.version_title is None:
        said.append("A new judge version. Old verdicts stay, and no figure of another version moves.")
    else:
        said.append(f"Old verdicts stay; of {estimate.version_title} the newest one counts.")
    return " ".join(said)


def cost_limit_why(estimate: CallEstimate | None) -> str | None:
    """Return why no cost limit can be kept, None where it can."""
    if estimate is None or estimate.priced:
        return None
    return f"No price is known for {estimate.model}: name it in a price file (JUDGEBOARD_PRICES)."
