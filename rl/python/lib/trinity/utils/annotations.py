"""Marks for classes and functions that may change."""


def Experimental(func):
    """Marks what may change or go."""
    func._is_experimental = True
    return func


def Deprecated(func):
    """Marks what should not be used any more."""
    func._is_deprecated = True
    return func
