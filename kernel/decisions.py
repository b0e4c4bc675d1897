"""A decision is a value with a citation: what was decided, by which rule, in which wording, and why."""

from dataclasses import asdict, dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Citation:
    """The source of a rule. `article` is what a person reads; the dates bound the wording that was used."""

    rule: str  # id of the row in docs/rules.md, such as "R1"
    article: str  # "Lei SC 5.684/1980, art. 11-A" or "política da transportadora"
    in_force_from: date | None = None
    in_force_to: date | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome (a short machine word), its citation, and the reasons as sentences for people."""

    outcome: str
    citation: Citation
    reasons: tuple[str, ...] = ()

    def stored(self) -> dict[str, object]:
        """The JSON form kept beside what was decided; dates in ISO form."""
        cited = {key: value.isoformat() if isinstance(value, date) else value
                 for key, value in asdict(self.citation).items()}
        return {"outcome": self.outcome, "reasons": list(self.reasons), **cited}
