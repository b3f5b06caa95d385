"""Everything that is offered now, under the names agents see: one immutable snapshot, looked up and never changed."""
