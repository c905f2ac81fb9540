"""The names of Trinity-RFT that plug-in files import, carried in the trinity binary: pure Python, standard library only."""
