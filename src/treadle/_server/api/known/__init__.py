"""What is known: the grounds of answers, and what agents remember about their users."""
