"""What a file contains, for reports: findings, rules, key facts. Nothing is written."""
