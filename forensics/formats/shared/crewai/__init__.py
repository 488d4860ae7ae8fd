"""What do events of CrewAI say? Their types, which of them tell one span, and how their values are written down."""
