"""The kinds of refusal that policy and service raise. `kernel/web.py` holds the one table from kind to HTTP."""

from kernel.decisions import Citation


class DomainError(Exception):
    """A refusal with a machine code and a sentence for a person that says what to do now.

    `fields` maps a field's name to its own sentence; `citation` names the rule where a rule refused.
    Neither may hold a name or a document number.
    """

    def __init__(self, code: str, sentence: str, *, fields: dict[str, str] | None = None,
                 citation: Citation | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.sentence = sentence
        self.fields = fields or {}
        self.citation = citation


class InvalidInput(DomainError):
    """What was sent cannot be read or is not complete."""


class NotFound(DomainError):
    """There is no such thing, or it is not this person's to see: the answer is the same."""


class Conflict(DomainError):
    """Somebody was first, or the thing is no longer in the state that the request needs."""


class RuleViolation(DomainError):
    """A law or a carrier's policy refuses; always with a citation."""

    def __init__(self, code: str, sentence: str, *, citation: Citation,
                 fields: dict[str, str] | None = None) -> None:
        super().__init__(code, sentence, fields=fields, citation=citation)


class Forbidden(DomainError):
    """Signed in, but the role may not do this."""
