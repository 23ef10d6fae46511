"""The two databases that keep a library: SQLite and PostgreSQL."""
