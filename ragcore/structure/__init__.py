"""What a question may count, compare or sum: the tables of documents."""
