"""How far people, judges, and people and judges agree: read from the store, measured, explained in words."""

from judgeboard.agreement.measure import agreement_of, measure_agreement
from judgeboard.agreement.ratings import PairSource
from judgeboard.agreement.result import AgreementResult

__all__ = ["AgreementResult", "PairSource", "agreement_of", "measure_agreement"]
