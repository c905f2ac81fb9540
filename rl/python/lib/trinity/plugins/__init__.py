"""The package that plug-in files are loaded into: trinity.plugins.NAME is NAME.py of a plug-in folder."""
