"""What other files of the folder import."""


def digits(text):
    return float(sum(c.isdigit() for c in text))
