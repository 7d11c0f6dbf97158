"""The road of a question: its theorems are asked in their order until one of them proves an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from lightning_sym.limits import Work

Q = TypeVar("Q", contravariant=True)
E = TypeVar("E", covariant=True)


class TheoremNeed(Protocol):
    """A hypothesis of a theorem."""

    def failing(self, question: Any) -> str | None:
        """Return what is wrong where it is not known to hold, with its evidence."""


class Need(NamedTuple):
    """A hypothesis that a question answers by itself.

    Attributes:
        must: what must be so.
        holds: whether it is so.
        given: what is so where it does not hold, in words.
        said: what is said in place of both.
    """

    must: str
    holds: Callable[[Any], bool]
    given: Callable[[Any], str] | None = None
    said: str = ""

    def failing(self, question: Any) -> str | None:
        """Return what must be so and is not, with what is given."""
        if self.holds(question):
            return None
        return self.said or f"it needs {self.must}" + ("" if self.given is None else f", got {self.given(question)}")


class TestedNeed(NamedTuple):
    """A hypothesis with a test that says what is wrong: nothing where it holds.

    Attributes:
        must: what must be so.
        why: the test.
    """

    must: str
    why: Callable[[Any], str | None]

    def failing(self, question: Any) -> str | None:
        """Return what is wrong."""
        return self.why(question)


def failing(question: object, needs: Iterable[TheoremNeed]) -> str | None:
    """Return the first of these hypotheses that is not known to hold; those behind it are not tested."""
    for need in needs:
        if (why := need.failing(question)) is not None:
            return why
    return None


class OneOf(NamedTuple):
    """Several lists of hypotheses, one of which is enough.

    Attributes:
        ways: each with the questions that it is about.
    """

    ways: tuple[tuple[Callable[[Any], bool], tuple[TheoremNeed, ...]], ...]

    def failing(self, question: Any) -> str | None:
        """Return what is wrong in each list, where none is known to hold whole."""
        found = [failing(question, needs) for about, needs in self.ways if about(question)]
        return None if None in found else "; and ".join(dict.fromkeys(why for why in found if why is not None))


class TheoremPrice(NamedTuple):
    """What a theorem costs, in seconds: it is paid before anything is begun.

    Attributes:
        steps: seconds of each step.
        stage: what is done, in words.
        is_needed: whether a question that cannot pay is refused; else it passes this theorem by.
    """

    steps: tuple[float, ...]
    stage: str
    is_needed: bool = False


def paid_by_steps(question: object) -> TheoremPrice:
    """Return a price of nothing before the work begins: it is paid step by step, or was paid before."""
    del question
    return TheoremPrice((), "")


def any_question(question: object) -> bool:
    """Return what a theorem is about that is about all."""
    return question is not None


class FellShort(NamedTuple):
    """A theorem that was asked and proved nothing, and why."""

    citation: str
    why: str

    def __str__(self) -> str:
        return f"{self.citation}: {self.why}"


class TheoremRow(NamedTuple, Generic[Q, E]):
    """A theorem and how it is applied.

    Attributes:
        citation: its number and page; empty for what is no theorem, such as an input where two functions differ.
        about: the questions that it is about.
        price: what it costs.
        prove: what it proves, or nothing.
        silence: what is said where it proves nothing, its hypotheses being fulfilled.
        needs: its hypotheses.
    """

    citation: str
    about: Callable[[Q], bool]
    price: Callable[[Q], TheoremPrice]
    prove: Callable[[Q], E | None]
    silence: str = "it proves nothing here"
    needs: tuple[TheoremNeed, ...] = ()


class LaterRows(NamedTuple, Generic[Q, E]):
    """Rows in a file that only the questions that they are about load.

    Attributes:
        about: these questions.
        rows: what gives the rows.
    """

    about: Callable[[Q], bool]
    rows: Callable[[], Iterable[TheoremRow[Q, E]]]


Rows: TypeAlias = Iterable[TheoremRow[Q, E] | LaterRows[Q, E]]


def proved(question: Q, rows: Rows[Q, E], work: Work, tried: list[FellShort]) -> Iterator[E]:
    """Yield what each theorem proves, in their order; `tried` gets those that were asked in vain.

    Raises:
        TooLarge: a theorem that is needed costs more than is left of `work`.
    """
    for row in rows:
        if not row.about(question):
            continue
        if isinstance(row, LaterRows):
            yield from proved(question, row.rows(), work, tried)
            continue
        steps, stage, is_needed = row.price(question)
        if not steps or is_needed or work.allows(sum(steps)):
            for number, seconds in enumerate(steps):
                work.spend(seconds, stage, number, len(steps))
            why = failing(question, row.needs)
            if why is None and (found := row.prove(question)) is not None:
                yield found
                continue
        else:
            why = f"it takes more exact work than allowed, about {sum(steps):,.3g} s"
        if row.citation:
            tried.append(FellShort(row.citation, why or row.silence))


def ask(question: Q, rows: Rows[Q, E], work: Work) -> tuple[E | None, tuple[FellShort, ...]]:
    """Return the first answer that a theorem proves, and what was asked before in vain.

    Raises:
        TooLarge: a theorem that is needed costs more than is left of `work`.

    Example:
        >>> def row(name, price, *needs):
        ...     cost = TheoremPrice((price,), name)
        ...     return TheoremRow(name, any_question, lambda n: cost, lambda n: name, needs=needs)
        >>> rows = [row("A", 0, Need("an even number", lambda n: n % 2 == 0, str)), row("B", 100), row("C", 1)]
        >>> answer, tried = ask(3, rows, Work(60))
        >>> answer, [str(each) for each in tried]
        ('C', ['A: it needs an even number, got 3', 'B: it takes more exact work than allowed, about 100 s'])
    """
    tried = list[FellShort]()
    return next(proved(question, rows, work, tried), None), tuple(tried)


def propositions(page: str, numbers: Iterable[int]) -> str:
    """Return where something is proved, as answers cite it.

    Example:
        >>> propositions("docs/equations.md", [4]), propositions("docs/equations.md", [5, 3, 4])
        ('docs/equations.md, Proposition 4', 'docs/equations.md, Propositions 3, 4 and 5')
    """
    *first, last = map(str, sorted(numbers))
    return f"{page}, Propositions {', '.join(first)} and {last}" if first else f"{page}, Proposition {last}"
