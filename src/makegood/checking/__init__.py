"""What could strand a task of a plan, found before it runs. Pure: a compiled plan in, findings out."""

from makegood.checking.check import RULES, check
from makegood.checking.finding import Finding, Setting, Severity

__all__ = ["RULES", "Finding", "Setting", "Severity", "check"]
