"""Which texts that a tool runs are proven to read only? SQL, shell and GraphQL, each through a real parser.

A proof is an allow list met in full: every statement, command, option and function of the text is on a list in
`rules/proofs/`. Anything else (not parsed, not known, too long, code) is no proof, and says nothing about the text.
"""

from forensics.proofs.calls import answer
from forensics.proofs.proof import Proof
from forensics.proofs.prove import prove

__all__ = ["Proof", "answer", "prove"]
