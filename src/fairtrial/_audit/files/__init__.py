"""Files of every kind that people have, seen as one table: office files, texts, Parquet, Arrow and JSON."""

from fairtrial._audit.files.column_reading import AS_WRITTEN as AS_WRITTEN
from fairtrial._audit.files.intake import KNOWN as KNOWN
from fairtrial._audit.files.intake import split_sheet as split_sheet
from fairtrial._audit.files.table import Files as Files
