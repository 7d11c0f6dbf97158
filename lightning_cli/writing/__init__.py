"""How answers are written: tables, JSON, mathematics, HTML."""
