"""What is recorded of calls beyond what their own captures give: watches, conditions, stacks, structures in depth."""
