"""Memories that lie as rows in a PostgreSQL database, tenant by tenant."""
