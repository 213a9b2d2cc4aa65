"""What recall finds before and after a night, beside plain ways to search."""
