"""Rule packs and policies: what may a rule say, which rules are in force, and what do they say about a tool?"""

from forensics.rules.engine import RuleSet, load_rules
from forensics.rules.model import policy_schema, rule_pack_schema
from forensics.rules.policy_file import load_policy

__all__ = ["RuleSet", "load_policy", "load_rules", "policy_schema", "rule_pack_schema"]
