"""What is offered now, and to whom: lists, resources, prompts of all providers."""
