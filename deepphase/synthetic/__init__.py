"""Motion and songs made by formula, with their true phases, contacts and beats."""
