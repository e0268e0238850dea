"""The audit: what tasks have done outside, proved from their history, and held against what services hold."""

from makegood.auditing.audit import Audit, Report
from makegood.authoring.listing import Held
from makegood.reading.audit import Effect, End, Finding, Kind, Stands, Statement

__all__ = ["Audit", "Effect", "End", "Finding", "Held", "Kind", "Report", "Stands", "Statement"]
