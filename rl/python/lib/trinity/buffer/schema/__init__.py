"""Registries of formatters and tables. Rows are read by the trinity binary; a reader of your own may format them."""

from trinity import _missing
from trinity.utils.registry import Refusing

__getattr__ = _missing.attribute(__name__)

FORMATTER = Refusing("formatter", "the formatter", "name the columns in format, or register a reader (trinity.buffer."
                     "reader.READER) that returns the rows as they should be")
SQL_SCHEMA = Refusing("sql_schema", "the table", "use a data set in files, or register a reader")
