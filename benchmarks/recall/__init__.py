"""What recall finds before and after a night, compared with baselines."""
