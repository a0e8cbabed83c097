"""From an expression to where its value lies in the process."""
