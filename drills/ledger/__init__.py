"""The ledger: what a run intends, does and sees, written before and as it happens, by every process of the run.

Written so that the run can be undone (`recover`) and judged anew (`analyze`) after its driver was killed.
"""

from __future__ import annotations

from drills.ledger.ledger import Ledger

__all__ = ["Ledger"]
