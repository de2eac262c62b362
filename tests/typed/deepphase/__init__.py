"""The folder is a package to type checkers; what it has is in the links beside this file."""
