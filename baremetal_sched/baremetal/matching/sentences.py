"""The result of a request in one plain sentence, made of an analysis: pure, without a database."""

from collections.abc import Iterable, Mapping, Sequence

from baremetal_sched.baremetal.matching.conditions import CLASS, Condition
from baremetal_sched.baremetal.matching.masks import Analysis, Verdict

#: The sentence for failures whose reason could not be found in time.
FALLBACK = "No node matches the request, or none that matches is free."

#: How many conditions are named, and the longest text of each, in characters.
_NAMED = 2
_LONGEST = 120

#: The beginning of a condition's text about a machine that meets it; of the text about one machine that does not, and
#: about several.
_OPPOSITES = (
    ("does not have ", "has ", "have "),
    ("is not ", "is ", "are "),
    ("has ", "lacks ", "lack "),
    ("is ", "is not ", "are not "),
    ("can ", "cannot ", "cannot "),
    ("offers ", "does not offer ", "do not offer "),
    ("did not fail ", "failed ", "failed "),
)


def sentence(
    analysis: Analysis, meant: Mapping[str, str] | None = None, *, of_project: bool = False, of_all: int | None = None
) -> str:
    """Return the verdict, the two conditions that rule out most machines, and the smallest relaxation.

    ``meant``: by unknown names, the names that were probably meant. ``of_project``: only machines that the project of
    the request may use are counted. ``of_all``: how many machines there are, if ``analysis`` is about a sample of them.
    """
    usable = " that the project may use" if of_project else ""
    if not analysis.nodes:
        return f"There are no nodes{usable}."
    clauses = [_verdict(analysis, _machines(analysis.nodes, usable, of_all)), *_relaxation(analysis)]
    close = next(iter((meant or {}).items()), None)
    if close is not None:
        return f"{'; '.join(clauses)}; did you mean {close[1]} instead of {close[0]}?"
    return f"{'; '.join(clauses)}."


def together(nodes: int, *, if_free: bool = False, others_fit: bool = False) -> str:
    """Return the sentence about machines that meet each condition, but not all of them together.

    ``if_free``: they would meet each if they were free. ``others_fit``: other machines would fit if they were free.
    """
    if if_free:
        return f"No node matches. {_counted(nodes)} would meet each of the conditions if free, but not all together."
    begin = "No node that matches is free" if others_fit else "No node matches"
    count = "1 node meets" if nodes == 1 else f"{nodes:,} nodes meet"
    return f"{begin}. {count} each of the conditions, but not all of them together."


def of_parts(verdict: str, fitting: int, unmet: Mapping[str, str]) -> str:
    """Return the sentence about a request of several parts; ``unmet``: the reasons of the parts that nothing meets."""
    if fitting:
        return f"{'Only ' if verdict == Verdict.SHORT else ''}{fitting:,} can be had."
    for parameter, said in unmet.items():
        return f"{parameter} cannot be met: {said}"
    return "Each part of the request can be met, but not all of them together by one tree of providers."


def in_use_until(number: int, first: str) -> str:
    """Return the sentence about machines that are in use until a known end, and the first of these ends."""
    machines = "1 node that matches is" if number == 1 else f"{number:,} nodes that match are"
    return f"{machines} in use until a known end{',' if number == 1 else ', the first'} {first}."


def failing(condition: Condition) -> tuple[str, str]:
    """Return the text about a machine that does not meet the condition, and about several."""
    one, several = condition.failure or _opposite(condition.text)
    return _shortened(one), _shortened(several)


def _opposite(text: str) -> tuple[str, str]:
    for begin, one, several in _OPPOSITES:
        if text.startswith(begin):
            rest = text.removeprefix(begin)
            return one + rest, several + rest
    return f"does not meet '{text}'", f"do not meet '{text}'"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _machines(nodes: int, usable: str, of_all: int | None) -> str:
    if of_all is not None:
        return f"{nodes:,} of {of_all:,} nodes{usable} that were looked at"
    return f"{_counted(nodes)}{usable}"


def _counted(nodes: int) -> str:
    return "1 node" if nodes == 1 else f"{nodes:,} nodes"


def _verdict(analysis: Analysis, machines: str) -> str:
    match analysis.verdict:
        case Verdict.FITS:
            return f"{analysis.fitting:,} of {machines} {'matches' if analysis.fitting == 1 else 'match'}"
        case Verdict.SHORT:
            begin = f"Only {_counted(analysis.fitting)} can be had"
            return f"{begin}. Of {machines}, {_conditions(analysis)}" if analysis.decisive else begin
        case Verdict.BUSY:
            return f"No node that matches is free. Of {_counted(analysis.among)}, {_conditions(analysis)}"
        case Verdict.UNSERVED:
            return f"No node that matches can be used. Of {_counted(analysis.among)}, {_conditions(analysis)}"
    return f"No node matches. Of {machines}, {_conditions(analysis)}"


def _conditions(analysis: Analysis) -> str:
    """The conditions that rule out most, each machine counted for the first that it fails."""
    strongest = sorted(analysis.decisive, key=lambda each: -each[1])[:_NAMED]
    phrases = [_said(condition, count) for condition, count in analysis.decisive if (condition, count) in strongest]
    others = sum(count for _, count in analysis.decisive) - sum(count for _, count in strongest)
    if others:
        phrases.append(f"{others:,} {'fails' if others == 1 else 'fail'} other conditions")
    return joined(phrases)


def _said(condition: Condition, count: int) -> str:
    one, several = failing(condition)
    return f"{count:,} {one if count == 1 else several}"


def joined(phrases: Sequence[str]) -> str:
    """Return the parts as a list in a sentence."""
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def _relaxation(analysis: Analysis) -> Iterable[str]:
    """Yield the smallest relaxation, if it is short."""
    for relaxation in analysis.relaxations[:1]:
        would_match = f"{relaxation.would_fit:,} would match"
        if len(relaxation.drop) > _NAMED:
            yield f"{would_match} without {len(relaxation.drop)} of the conditions"
            continue
        by_id = {share.condition.id: share.condition for share in analysis.shares}
        dropped = [by_id[name] for name in relaxation.drop]
        classes = [each.id.removeprefix(CLASS) for each in dropped if each.id.startswith(CLASS)]
        accepted = [failing(each)[1] for each in dropped if not each.id.startswith(CLASS)]
        less = f" without asking for {joined(classes)}" if classes else ""
        yield would_match + less + (f" if nodes that {' or '.join(accepted)} were accepted" if accepted else "")
